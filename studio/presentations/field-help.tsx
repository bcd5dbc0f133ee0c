/** What a field is and what it takes, below its input. */
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

/** `item`: of a list, what each item is. */
export function helpOf(say: Say, field: FieldInfo, item?: FieldInfo): ReactNode {
  const limits = [...limitsOf(say, field), ...(item === undefined ? jsonOf(say, field) : limitsOf(say, item))];
  return (
    <Box component="span" sx={{ display: 'block', overflowWrap: 'anywhere' }}>
      {[field.description, limits.join(', ')].filter(Boolean).join(' · ')}
    </Box>
  );
}

const jsonOf = (say: Say, field: FieldInfo): readonly string[] => (isJson(field) ? [say('limit.json')] : []);

function limitsOf(say: Say, field: FieldInfo): readonly string[] {
  const { maxLength, minLength, minimum, maximum, precision, scale, pattern, minItems, maxItems } = field;
  const limits = [
    minimum !== undefined && say('limit.minimum', { limit: String(minimum) }),
    maximum !== undefined && say('limit.maximum', { limit: String(maximum) }),
    minLength !== undefined && minLength > 0 && say('limit.min_length', { smart_count: minLength }),
    maxLength !== undefined && say('limit.max_length', { smart_count: maxLength }),
    precision !== undefined && say('limit.digits', { precision, scale: scale ?? 0 }),
    pattern !== undefined && say('limit.pattern', { pattern }),
    minItems !== undefined && minItems > 0 && say('limit.fewest_items', { smart_count: minItems }),
    maxItems !== undefined && say('limit.most_items', { smart_count: maxItems }),
    exampleOf(say, field),
  ];
  return limits.filter((limit) => typeof limit === 'string');
}

function exampleOf(say: Say, field: FieldInfo): string | false {
  if (isJson(field) || field.type === 'boolean' || field.enum !== undefined) return false;
  const examples = field.examples.length === 0 && field.type === 'timestamp' ? [TIME] : field.examples;
  if (examples.length === 0) return false;
  const shown = examples.slice(0, 2).map((example) => textOf(parseJson(JSON.stringify(example))));
  return say('limit.example', { example: shown.join(', ') });
}
