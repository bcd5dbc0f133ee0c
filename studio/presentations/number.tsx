/** Numbers: shown as the reader's language writes them, with every digit. */
import type { ReactNode } from 'react';
import { textOf } from '../data/json.ts';
import { numberInWords } from './numbers.ts';
import { pageLanguage } from './plain.ts';
import { DIGITS, type Presentation, type ShowProps } from './presentation.ts';
import { TextInput } from './text-input.tsx';

const ShownNumber = ({ value }: ShowProps): ReactNode => (
  <bdi style={DIGITS}>{numberInWords(textOf(value), pageLanguage())}</bdi>
);

export const number: Presentation = { Show: ShownNumber, Input: TextInput };
