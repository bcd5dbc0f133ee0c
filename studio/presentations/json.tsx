/** Everything else, as JSON. */
import Box from '@mui/material/Box';
import type { ReactNode } from 'react';
import { NumberText, textOf, writeJson } from '../data/json.ts';
import type { Presentation, ShowProps } from './presentation.ts';
import { TextInput } from './text-input.tsx';

const LONGEST = 80;

export function ShownJson({ value, isShort, say }: ShowProps): ReactNode {
  if (typeof value === 'boolean' || value instanceof NumberText) return <code>{textOf(value)}</code>;
  if (isShort && Array.isArray(value)) return say('value.items', { smart_count: value.length });
  const text = writeJson(value, isShort ? undefined : 2);
  if (isShort) return <code>{text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}</code>;
  return (
    <Box component="pre" sx={{ m: 0, fontSize: '0.85rem', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {text}
    </Box>
  );
}

export const json: Presentation = { Show: ShownJson, Input: TextInput };
