/** Values as what they are: how each is read, in tables and on the page of a record. */
import Box from '@mui/material/Box';
import Link from '@mui/material/Link';
import type { ReactNode } from 'react';
import { NumberText, textOf, type Value, writeJson } from '../data/json.ts';
import type { FieldInfo } from '../data/model.ts';
import { type Say, useText } from '../texts/texts.ts';
import { NoIcon, YesIcon } from '../app/icons.tsx';

interface ShownProps {
  readonly field: FieldInfo;
  readonly value: Value | undefined;
  /** On a line of a table there is little room. */
  readonly isShort?: boolean;
}

export function Shown({ field, value, isShort = false }: ShownProps): ReactNode {
  const say = useText();
  if (value === undefined) return undefined;
  if (value === null) return <Quiet text={isShort ? '–' : say('value.null')} label={say('value.null')} />;
  if (value === '') return <Quiet text={isShort ? '“”' : say('value.empty_text')} label={say('value.empty_text')} />;
  return (SHOWN[field.type] ?? ShownJson)({ field, value, isShort, say });
}

interface ShowProps {
  readonly field: FieldInfo;
  readonly value: Value;
  readonly isShort: boolean;
  readonly say: Say;
}

const Quiet = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <Box component="span" sx={{ color: 'text.secondary', fontStyle: text === label ? 'italic' : undefined }}>
    {text === label ? text : <span aria-hidden>{text}</span>}
    {text === label ? undefined : (
      <Box component="span" sx={HIDDEN}>
        {label}
      </Box>
    )}
  </Box>
);

/** For screen readers alone. */
export const HIDDEN = {
  position: 'absolute',
  width: 1,
  height: 1,
  overflow: 'hidden',
  clipPath: 'inset(50%)',
  whiteSpace: 'nowrap',
} as const;

/** Lists have many cells: what each of them needs is written as cheaply as it can be. */
const DIGITS = { fontVariantNumeric: 'tabular-nums' } as const;

const ShownNumber = ({ value }: ShowProps): ReactNode => <bdi style={DIGITS}>{textOf(value)}</bdi>;

function ShownBoolean({ value, say }: ShowProps): ReactNode {
  const text = say(value === true ? 'value.yes' : 'value.no');
  const Icon = value === true ? YesIcon : NoIcon;
  return (
    <Icon
      titleAccess={text}
      fontSize="small"
      sx={{ color: value === true ? 'primary.main' : 'text.secondary', verticalAlign: 'middle' }}
    />
  );
}

const LINKS: Readonly<Record<string, (text: string) => string>> = {
  email: (text) => `mailto:${text}`,
  uri: (text) => text,
};
const WRAPPED = { whiteSpace: 'pre-wrap' } as const;
const SAFE = /^(?:https?|mailto):/i;
const LONGEST = 80;

function ShownText({ field, value, isShort }: ShowProps): ReactNode {
  const text = textOf(value);
  const href = LINKS[field.format ?? '']?.(text);
  const title = field.titles?.[text];
  const shown = title ?? (isShort && text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
  if (href === undefined || !SAFE.test(href)) return <bdi style={isShort ? undefined : WRAPPED}>{shown}</bdi>;
  return (
    <Link href={href} target="_blank" rel="noreferrer noopener">
      <bdi>{shown}</bdi>
    </Link>
  );
}

/** Dates have no time zone; points in time are shown as they are stored, and in the reader's own way on request. */
function ShownTime({ value }: ShowProps): ReactNode {
  const text = textOf(value);
  const local = new Date(text);
  const title = Number.isNaN(local.getTime()) ? text : local.toLocaleString(document.documentElement.lang);
  return (
    <time dateTime={text} title={title} style={DIGITS}>
      {text.replace('T', ' ')}
    </time>
  );
}

function ShownJson({ value, isShort, say }: ShowProps): ReactNode {
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

/** A field type without a line here is shown as JSON. */
const SHOWN: Readonly<Record<string, (props: ShowProps) => ReactNode>> = {
  string: ShownText,
  integer: ShownNumber,
  number: ShownNumber,
  decimal: ShownNumber,
  boolean: ShownBoolean,
  date: (props) => <bdi>{textOf(props.value)}</bdi>,
  timestamp: ShownTime,
};

const NUMERIC: ReadonlySet<string> = new Set(['integer', 'number', 'decimal']);
/** Numbers stand below each other by their digits. */
export const isNumeric = ({ type }: FieldInfo): boolean => NUMERIC.has(type);
