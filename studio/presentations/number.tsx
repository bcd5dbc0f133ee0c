/** Numbers: shown as the reader's language writes them, with every digit; typed as people write them. */
import { Button, FormHelperText, TextField } from '@mui/material';
import { type ReactNode, useRef, useState } from 'react';
import { textOf } from '../data/json.ts';
import type { FieldInfo } from '../data/model.ts';
import type { Say } from '../texts/texts.ts';
import { type FieldDraft, placesOf } from './field-draft.ts';
import { isOpen, numberDraft, numberShown, numberSpoken, numberTyped, openReadings } from './numbers.ts';
import { pageLanguage } from './plain.ts';
import { DIGITS, type FilterProps, type InputProps, type Presentation } from './presentation.ts';
import { TextInput } from './text-input.tsx';

type NumberField = Pick<FieldInfo, 'type' | 'scale'>;

interface NumberText {
  /** What stands in the input: what was typed, until it is left. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onLeave: () => void;
  /** What was understood; the numbers to choose from, where there are two. */
  readonly note: ReactNode;
}

const WHOLE: NumberField = { type: 'integer' };

/** `draft`: numbers as the interface writes them, one on each line. Undefined as a field: whole numbers. */
export function useNumberText(
  say: Say,
  field: NumberField | undefined,
  draft: FieldDraft,
  onDraft: (draft: string) => void,
): NumberText {
  const language = pageLanguage();
  const places = placesOf(field ?? WHOLE);
  const drafts = typeof draft === 'string' ? draft.split('\n') : [];
  const [typed, setTyped] = useState<string>();
  const [isLeft, setLeft] = useState(true);
  const given = useRef(draft);
  const isMine = typed !== undefined && given.current === draft;
  const give = (next: string): void => {
    given.current = next;
    onDraft(next);
  };
  const plain = drafts.map((one) => numberTyped(one, language)).join('\n');
  const spoken = (one: string): string => numberSpoken(one, language, places ?? 1);
  const understood = isMine && typed !== drafts.join('\n') && !drafts.some(isOpen) ? drafts.map(spoken).join('; ') : '';
  const choose = (at: number, one: string): void => {
    setTyped(undefined);
    give(drafts.with(at, one).join('\n'));
  };
  const questions = drafts.flatMap((one, at) =>
    openReadings(one, language, places).map((reading) => (
      <Button
        key={`${at} ${reading}`}
        size="small"
        variant="outlined"
        sx={{ py: 0, mx: 0.5 }}
        onClick={() => choose(at, reading)}
      >
        {spoken(reading)}
      </Button>
    )),
  );
  const text = isMine && !isLeft ? typed : plain;
  return {
    text,
    onText: (next) => {
      setTyped(next);
      setLeft(false);
      give(
        next
          .split('\n')
          .map((line) => numberDraft(line, language, places))
          .join('\n'),
      );
    },
    onLeave: () => setLeft(true),
    // Already while it is typed: a note that came when the input is left would move what is clicked.
    note:
      questions.length === 0 && understood === '' ? undefined : (
        <FormHelperText component="div" role="status">
          {questions.length > 0 ? say('number.two_ways') : `= ${understood}`} {questions}
        </FormHelperText>
      ),
  };
}

function NumberInput({ control, ...props }: InputProps): ReactNode {
  const { value, onChange, onBlur } = control;
  const { text, onText, onLeave, note } = useNumberText(props.say, props.field, value, onChange);
  const leave = (): void => {
    onLeave();
    onBlur();
  };
  const shown = {
    ...control,
    value: typeof value === 'string' ? text : value,
    onChange: (next: string | null) => (next === null ? onChange(null) : onText(next)),
    onBlur: leave,
  };
  return (
    <>
      <TextInput {...props} control={shown} />
      {note}
    </>
  );
}

interface NumbersProps extends Omit<FilterProps, 'field'> {
  /** Undefined: whole numbers. */
  readonly field: NumberField | undefined;
  /** One on each line. */
  readonly isSeveral?: boolean;
}

export function NumberFilter({ field, label, text: draft, onText: onDraft, say, isSeveral = false }: NumbersProps) {
  const { text, onText, onLeave, note } = useNumberText(say, field, draft, onDraft);
  return (
    <div>
      <TextField
        label={label}
        value={text}
        multiline={isSeveral}
        minRows={isSeveral ? 3 : 1}
        error={draft.split('\n').some(isOpen)}
        autoComplete="off"
        onChange={({ target }) => onText(target.value)}
        onBlur={onLeave}
      />
      {note}
    </div>
  );
}

export const number: Presentation = {
  Show: ({ field, value, record }) => (
    <bdi style={DIGITS}>{numberShown(field, textOf(value), pageLanguage(), record)}</bdi>
  ),
  Input: NumberInput,
  Filter: NumberFilter,
};
