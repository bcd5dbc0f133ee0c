/** Texts; addresses of mail and pages are links. */
import Link from '@mui/material/Link';
import type { ReactNode } from 'react';
import { textOf } from '../data/json.ts';
import type { Presentation, ShowProps } from './presentation.ts';
import { TextInput } from './text-input.tsx';

const LINKS: Readonly<Record<string, (text: string) => string>> = {
  email: (text) => `mailto:${text}`,
  uri: (text) => text,
};
const WRAPPED = { whiteSpace: 'pre-wrap' } as const;
const SAFE = /^(?:https?|mailto):/i;
const LONGEST = 80;

export function ShownText({ value, isShort }: ShowProps): ReactNode {
  const text = textOf(value);
  const shown = isShort && text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return <bdi style={isShort ? undefined : WRAPPED}>{shown}</bdi>;
}

function ShownLink(props: ShowProps): ReactNode {
  const { format = '', shows } = props.field;
  const href = LINKS[shows === 'url' ? 'uri' : format]?.(textOf(props.value));
  if (href === undefined || !SAFE.test(href)) return <ShownText {...props} />;
  return (
    <Link href={href} target="_blank" rel="noreferrer noopener">
      <ShownText {...props} />
    </Link>
  );
}

export const text: Presentation = { Show: ShownText, Input: TextInput };
export const link: Presentation = { Show: ShownLink, Input: TextInput };
