/** Values as what they are: how each is read, in tables and on the page of a record. */
import { Box, Button } from '@mui/material';
import { type ReactNode, useState } from 'react';
import type { Value, ValueObject } from '../data/json.ts';
import type { FieldInfo } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { presentationOf } from './registry.ts';

interface ShownProps {
  readonly field: FieldInfo;
  readonly value: Value | undefined;
  /** On a line of a table there is little room. */
  readonly isShort?: boolean;
  /** The record that it is of. */
  readonly record?: ValueObject;
}

export function Shown({ field, value, isShort = false, record }: ShownProps): ReactNode {
  const say = useText();
  if (value === undefined) return undefined;
  if (value === null) return <Quiet text={isShort ? '–' : say('value.null')} label={say('value.null')} />;
  if (value === '') return <Quiet text={isShort ? '“”' : say('value.empty_text')} label={say('value.empty_text')} />;
  const { Show } = presentationOf(field);
  const shown = <Show field={field} value={value} isShort={isShort} record={record} say={say} />;
  return field.sensitive === true ? <Masked isShort={isShort}>{shown}</Masked> : shown;
}

export const Quiet = ({ text, label }: { readonly text: string; readonly label: string }) => (
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
  width: '1px',
  height: '1px',
  overflow: 'hidden',
  clipPath: 'inset(50%)',
  whiteSpace: 'nowrap',
} as const;

/** Nobody else in the room reads it, until it is asked for. */
function Masked({ isShort, children }: { readonly isShort: boolean; readonly children: ReactNode }) {
  const say = useText();
  const [isSeen, setSeen] = useState(false);
  return (
    <>
      {isSeen ? children : <Quiet text="••••••" label={say('value.masked')} />}
      {!isShort && (
        <Button size="small" onClick={() => setSeen(!isSeen)} sx={{ ml: 1, py: 0 }}>
          {say(isSeen ? 'value.hide' : 'value.reveal')}
        </Button>
      )}
    </>
  );
}
