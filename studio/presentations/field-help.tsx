/** The help below an input: the meaning of its field, and the values that it takes. */
import Box from '@mui/material/Box';
import type { ReactNode } from 'react';
import { parseJson, textOf } from '../data/json.ts';
import type { FieldInfo } from '../data/model.ts';
import type { Say } from '../texts/texts.ts';
import { isJson } from './field-draft.ts';

type Keyboard = 'numeric' | 'decimal' | 'email' | 'url';

/** Keyboards of phones. The types of inputs that have them as well would change what is typed. */
const KEYBOARDS: Readonly<Record<string, Keyboard>> = {
  integer: 'numeric',
  number: 'decimal',
  decimal: 'decimal',
  email: 'email',
  uri: 'url',
};

export const modeOf = ({ type, format = '' }: FieldInfo): Keyboard | undefined => KEYBOARDS[type] ?? KEYBOARDS[format];

const TIME = '2030-12-31T23:59:59Z';

/** The description of a field and an example; limits appear when they are broken. `item`: the field of a list's items. */
export function helpOf(say: Say, field: FieldInfo, item?: FieldInfo): ReactNode {
  const hints = [
    field.description,
    item === undefined && isJson(field) && say('limit.json'),
    exampleOf(say, item ?? field),
  ];
  return (
    <Box component="span" sx={{ display: 'block', overflowWrap: 'anywhere' }}>
      {hints.filter(Boolean).join(' · ')}
    </Box>
  );
}

function exampleOf(say: Say, field: FieldInfo): string | false {
  if (isJson(field) || field.type === 'boolean' || field.enum !== undefined) return false;
  const examples = field.examples.length === 0 && field.type === 'timestamp' ? [TIME] : field.examples;
  if (examples.length === 0) return false;
  const shown = examples.slice(0, 2).map((example) => textOf(parseJson(JSON.stringify(example))));
  return say('limit.example', { example: shown.join(', ') });
}
