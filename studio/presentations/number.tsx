/** Numbers: shown as the reader's language writes them, with every digit. */
import type { ReactNode } from 'react';
import { textOf } from '../data/json.ts';
import { numberInWords, numberRead, numberTyped } from './numbers.ts';
import { pageLanguage } from './plain.ts';
import { DIGITS, type InputProps, type Presentation } from './presentation.ts';
import { TextInput } from './text-input.tsx';

/** The draft has a decimal point, whatever the input shows. */
function NumberInput({ control, ...props }: InputProps): ReactNode {
  const { value, onChange } = control;
  const language = pageLanguage();
  const localized = {
    ...control,
    value: typeof value === 'string' ? numberTyped(value, language) : value,
    onChange: (text: string | null) => onChange(text === null ? null : numberRead(text, language)),
  };
  return <TextInput {...props} control={localized} />;
}

export const number: Presentation = {
  Show: ({ value }) => <bdi style={DIGITS}>{numberInWords(textOf(value), pageLanguage())}</bdi>,
  Input: NumberInput,
};
