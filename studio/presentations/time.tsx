/** Dates, and points in time: these in local time with its zone. What nobody edits stays as it is stored. */
import { Box, TextField } from '@mui/material';
import type { ReactNode } from 'react';
import { textOf } from '../data/json.ts';
import { helpOf } from './field-help.tsx';
import { pageLanguage } from './plain.ts';
import {
  DIGITS,
  type FilterProps,
  type InputProps,
  type Presentation,
  type ShowProps,
  SHRUNK,
  titleOf,
} from './presentation.ts';
import { TextInput } from './text-input.tsx';
import { dateText, fromSeconds, localInput, storedTime, timeText } from './times.ts';

function ShownDate({ value }: ShowProps): ReactNode {
  const text = textOf(value);
  return (
    <time dateTime={text} style={DIGITS}>
      {dateText(text, pageLanguage())}
    </time>
  );
}

function ShownTime({ value, isShort }: ShowProps): ReactNode {
  const text = textOf(value);
  return (
    <time dateTime={text} title={isShort ? timeText(text, pageLanguage()) : text} style={DIGITS}>
      {timeText(text, pageLanguage(), isShort)}
    </time>
  );
}

/** `shown` and `stored`: between what is stored and what the picker of the browser takes. */
const inputOf = (
  type: 'date' | 'datetime-local',
  shown: (text: string) => string | undefined,
  stored: (text: string) => string,
) =>
  function TimeInput(props: InputProps): ReactNode {
    const { field, control, fault, say } = props;
    const { value, onChange, onBlur, ref, name } = control;
    const text = typeof value === 'string' && value !== '' ? shown(value) : '';
    // The picker cannot show it, and would drop it.
    if (text === undefined) return <TextInput {...props} />;
    return (
      <TextField
        name={name}
        label={titleOf(field)}
        type={type}
        value={text}
        onChange={({ target }) => onChange(target.value === '' ? '' : stored(target.value))}
        onBlur={onBlur}
        inputRef={ref}
        error={fault !== undefined}
        helperText={fault ?? helpOf(say, field)}
        autoComplete="off"
        slotProps={{ ...SHRUNK, htmlInput: { step: stepOf(type, text) } }}
      />
    );
  };

const stepOf = (type: string, text: string): string | undefined =>
  type === 'date' ? undefined : text.includes('.') ? '0.001' : '1';

const isDate = (text: string): string | undefined => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? text : undefined);

const DateFilter = ({ label, text, onText }: FilterProps): ReactNode => (
  <TextField
    type="date"
    label={label}
    value={isDate(text) ?? ''}
    onChange={({ target }) => onText(target.value)}
    slotProps={SHRUNK}
  />
);

/** A day is enough; an hour may be added. */
function TimestampFilter({ label, text, onText, say }: FilterProps): ReactNode {
  const local = isDate(text) ?? localInput(text) ?? '';
  const [date = '', clock = ''] = local.split('T');
  return (
    <Box sx={{ display: 'flex', gap: 1 }}>
      <TextField
        type="date"
        label={label}
        value={date}
        onChange={({ target }) => onText([target.value, clock].filter(Boolean).join('T'))}
        slotProps={SHRUNK}
      />
      <TextField
        type="time"
        label={say('filter.clock')}
        value={clock}
        disabled={date === ''}
        onChange={({ target }) => onText([date, target.value].filter(Boolean).join('T'))}
        slotProps={SHRUNK}
      />
    </Box>
  );
}

export const date: Presentation = {
  Show: ShownDate,
  Input: inputOf('date', isDate, (text) => text),
  Filter: DateFilter,
};
const ShownSeconds = (props: ShowProps): ReactNode => {
  const time = fromSeconds(textOf(props.value));
  return time === undefined ? textOf(props.value) : <ShownTime {...props} value={time} />;
};

export const seconds: Presentation = {
  Show: ShownSeconds,
  Input: inputOf(
    'datetime-local',
    (text) => localInput(fromSeconds(text) ?? ''),
    (text) => String(Date.parse(storedTime(text)) / 1000),
  ),
};
export const timestamp: Presentation = {
  Show: ShownTime,
  Input: inputOf('datetime-local', localInput, storedTime),
  Filter: TimestampFilter,
};
