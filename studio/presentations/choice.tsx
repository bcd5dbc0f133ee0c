/** One of a few values: states as coloured chips, and yes or no. */
import { FormControl, FormControlLabel, FormHelperText, Switch } from '@mui/material';
import type { CSSProperties, ReactNode } from 'react';
import { YesIcon } from '../app/icons.tsx';
import { Select } from '../app/select.tsx';
import { textOf } from '../data/json.ts';
import { helpOf } from './field-help.tsx';
import { titleOfValue } from './plain.ts';
import { type InputProps, type Presentation, type ShowProps, SHRUNK, titleOf } from './presentation.ts';

/** Far enough from each other to be told apart. A state has the one of its place in the descriptor. */
const HUES = [210, 35, 150, 275, 345, 185, 95, 240];

const chipOf = (hue: number): CSSProperties => ({
  display: 'inline-block',
  padding: '0 0.6em',
  borderRadius: '1em',
  fontSize: '0.92em',
  color: `light-dark(hsl(${hue} 65% 22%), hsl(${hue} 60% 90%))`,
  backgroundColor: `light-dark(hsl(${hue} 60% 92%), hsl(${hue} 32% 25%))`,
});
const CHIPS = HUES.map(chipOf);
export const PLAIN_CHIP: CSSProperties = {
  ...chipOf(0),
  color: 'inherit',
  backgroundColor: 'light-dark(hsl(0 0% 92%), hsl(0 0% 24%))',
};

function ShownChoice({ field, value, say }: ShowProps): ReactNode {
  const text = textOf(value);
  const place = field.enum?.indexOf(text) ?? -1;
  return (
    <bdi style={CHIPS[place === -1 ? -1 : place % CHIPS.length] ?? PLAIN_CHIP}>{titleOfValue(say, field, text)}</bdi>
  );
}

function ShownFlag({ value, isShort, say }: ShowProps): ReactNode {
  // A dash is null.
  if (value !== true) return <span style={{ opacity: 0.75 }}>{say('value.no')}</span>;
  const text = say('value.yes');
  const icon = (
    <YesIcon
      {...(isShort ? { titleAccess: text } : {})}
      fontSize="small"
      sx={{ color: 'primary.main', verticalAlign: 'middle' }}
    />
  );
  return isShort ? (
    icon
  ) : (
    <>
      {icon} {text}
    </>
  );
}

function FlagInput(props: InputProps): ReactNode {
  const { field, control } = props;
  return field.nullable === false && control.value !== undefined ? (
    <Toggle {...props} />
  ) : (
    <Choice
      {...props}
      choices={[
        ['true', props.say('value.yes')],
        ['false', props.say('value.no')],
      ]}
    />
  );
}

const ChoiceInput = (props: InputProps): ReactNode => (
  <Choice
    {...props}
    choices={(props.field.enum ?? []).map((value) => [value, titleOfValue(props.say, props.field, value)])}
  />
);

function Toggle({ field, control: { value, onChange, ref, onBlur, name }, fault, say }: InputProps) {
  const id = `help-${name}`;
  return (
    <FormControl error={fault !== undefined}>
      <FormControlLabel
        label={titleOf(field)}
        control={
          <Switch
            checked={value === true}
            onChange={(_event, checked) => onChange(checked)}
            onBlur={onBlur}
            slotProps={{ input: { ref, 'aria-describedby': id, 'aria-invalid': fault !== undefined } }}
          />
        }
      />
      <FormHelperText id={id} sx={{ mt: 0 }}>
        {fault ?? helpOf(say, field)}
      </FormHelperText>
    </FormControl>
  );
}

type Choices = readonly (readonly [value: string, title: string])[];

/** Options of a select are strings: nothing that is chosen is told from null by an option of its own. */
const NULL = '\0null';
const UNSET = '\0unset';

function Choice({ field, control, fault, say, choices }: InputProps & { readonly choices: Choices }) {
  const { value, onChange, onBlur, ref, name } = control;
  const isFlag = field.type === 'boolean';
  const take = (text: string): void =>
    onChange(text === NULL ? null : text === UNSET ? undefined : isFlag ? text === 'true' : text);
  // A value from before the list was shortened is shown as well.
  const isKnown = typeof value !== 'string' || choices.some(([one]) => one === value);
  const options: readonly (readonly [string, string])[] = [
    ...(value === undefined ? [[UNSET, '–'] as const] : []),
    ...(field.nullable === false ? [] : [[NULL, say('value.null')] as const]),
    ...choices,
    ...(isKnown ? [] : [[value, value] as const]),
  ];
  return (
    <Select
      name={name}
      label={titleOf(field)}
      value={value === null ? NULL : value === undefined ? UNSET : String(value)}
      onChoose={take}
      onBlur={onBlur}
      inputRef={ref}
      error={fault !== undefined}
      helperText={fault ?? helpOf(say, field)}
      // The empty text may be one of the choices.
      slotProps={{ ...SHRUNK, select: { displayEmpty: true } }}
      options={options}
    />
  );
}

export const choice: Presentation = { Show: ShownChoice, Input: ChoiceInput };
export const flag: Presentation = { Show: ShownFlag, Input: FlagInput };
