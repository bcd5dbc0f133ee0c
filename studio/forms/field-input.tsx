/** The input of a field: the right one for its type, with its limits as help, and null apart from the empty text. */
import Button from '@mui/material/Button';
import FormControl from '@mui/material/FormControl';
import FormControlLabel from '@mui/material/FormControlLabel';
import FormHelperText from '@mui/material/FormHelperText';
import InputAdornment from '@mui/material/InputAdornment';
import MenuItem from '@mui/material/MenuItem';
import Switch from '@mui/material/Switch';
import TextField from '@mui/material/TextField';
import type { ReactNode } from 'react';
import { type ControllerRenderProps, useController } from 'react-hook-form';
import type { FieldInfo } from '../data/model.ts';
import { type Say, useText } from '../texts/texts.ts';
import { type FieldDraft, isJson } from './draft.ts';
import { helpOf, modeOf } from './field-help.tsx';
import { itemOf, ListInput } from './list-input.tsx';

interface FieldInputProps {
  readonly field: FieldInfo;
  /** In the form. */
  readonly path: string;
}

export interface InputProps {
  readonly field: FieldInfo;
  readonly control: Omit<ControllerRenderProps, 'value'> & { readonly value: FieldDraft };
  readonly fault: string | undefined;
  readonly say: Say;
}

export function FieldInput({ field, path }: FieldInputProps): ReactNode {
  const say = useText();
  const { field: control, fieldState } = useController({ name: path });
  const item = itemOf(field);
  const props = { field, control, fault: fieldState.error?.message, say };
  if (item !== undefined) return <ListInput {...props} item={item} faults={fieldState.error?.types ?? {}} />;
  if (field.type === 'boolean')
    return field.nullable === false && control.value !== undefined ? (
      <Toggle {...props} />
    ) : (
      <Choice {...props} choices={FLAGS} />
    );
  return field.enum === undefined ? (
    <Text {...props} />
  ) : (
    <Choice {...props} choices={field.enum.map((value) => ({ value, title: titleOfValue(say, field, value) }))} />
  );
}

const titleOfValue = (say: Say, { titles }: FieldInfo, value: string): string =>
  titles?.[value] ?? (value === '' ? say('value.empty_text') : value);

const titleOf = ({ title, required }: FieldInfo): string => (required === true ? `${title} *` : title);

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

interface ChoiceOption {
  readonly value: string;
  readonly title?: string;
}

const FLAGS: readonly ChoiceOption[] = [{ value: 'true' }, { value: 'false' }];

/** Options of a select are strings: nothing that is chosen is told from null by an option of its own. */
const NULL = '\0null';
const UNSET = '\0unset';

function Choice({ field, control, fault, say, choices }: InputProps & { readonly choices: readonly ChoiceOption[] }) {
  const { value, onChange, onBlur, ref, name } = control;
  const isFlag = field.type === 'boolean';
  const take = (text: string): void =>
    onChange(text === NULL ? null : text === UNSET ? undefined : isFlag ? text === 'true' : text);
  // A value from before the list was shortened is shown as well.
  const isKnown = typeof value !== 'string' || choices.some((choice) => choice.value === value);
  const all = isKnown ? choices : [...choices, { value }];
  return (
    <TextField
      select
      name={name}
      label={titleOf(field)}
      value={value === null ? NULL : value === undefined ? UNSET : String(value)}
      onChange={({ target }) => take(target.value)}
      onBlur={onBlur}
      inputRef={ref}
      error={fault !== undefined}
      helperText={fault ?? helpOf(say, field)}
      // The empty text may be one of the choices.
      slotProps={{ ...SHRUNK, select: { displayEmpty: true } }}
    >
      {value === undefined && <MenuItem value={UNSET}>–</MenuItem>}
      {field.nullable !== false && <MenuItem value={NULL}>{say('value.null')}</MenuItem>}
      {all.map((choice) => (
        <MenuItem key={choice.value} value={choice.value}>
          {choice.title ?? (isFlag ? say(choice.value === 'true' ? 'value.yes' : 'value.no') : choice.value)}
        </MenuItem>
      ))}
    </TextField>
  );
}

const SHRUNK = { inputLabel: { shrink: true } } as const;
function Text({ field, control, fault, say }: InputProps) {
  const { value, onChange, onBlur, ref, name } = control;
  const isLong = field.multiline === true || isJson(field);
  const canBeNull = field.nullable !== false && (field.type === 'string' || isJson(field));
  const placeholder =
    value === null ? say('value.null') : value === '' && field.type === 'string' ? say('value.empty_text') : undefined;
  const mode = modeOf(field);
  return (
    <TextField
      name={name}
      label={titleOf(field)}
      value={typeof value === 'string' ? value : ''}
      onChange={({ target }) => onChange(target.value)}
      onBlur={onBlur}
      inputRef={ref}
      type={field.type === 'date' ? 'date' : 'text'}
      multiline={isLong}
      minRows={isLong ? 3 : 1}
      maxRows={20}
      error={fault !== undefined}
      helperText={fault ?? helpOf(say, field)}
      autoComplete="off"
      slotProps={{
        ...SHRUNK,
        htmlInput: {
          dir: isJson(field) ? 'ltr' : 'auto',
          placeholder,
          spellCheck: isLong && !isJson(field),
          ...(mode === undefined ? {} : { inputMode: mode }),
          style: isJson(field) ? { fontFamily: 'ui-monospace, monospace', fontSize: '0.85rem' } : {},
        },
        input: {
          endAdornment: canBeNull && value !== null && (value !== undefined || field.required === true) && (
            <InputAdornment position="end">
              <Button
                size="small"
                color="inherit"
                onClick={() => onChange(null)}
                aria-label={say('form.clear', { field: field.title })}
              >
                {say('form.set_null')}
              </Button>
            </InputAdornment>
          ),
        },
      }}
    />
  );
}
