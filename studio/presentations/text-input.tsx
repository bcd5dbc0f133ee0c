/** A value that is typed as text. */
import { TextField } from '@mui/material';
import { isJson } from './field-draft.ts';
import { helpOf, modeOf } from './field-help.tsx';
import { type InputProps, SHRUNK, titleOf } from './presentation.ts';

export function TextInput({ field, control, fault, say }: InputProps) {
  const { value, onChange, onBlur, ref, name } = control;
  const isLong = field.multiline === true || field.shows === 'markdown' || isJson(field);
  const canBeNull = field.nullable !== false && (field.type === 'string' || isJson(field));
  const placeholder =
    value === null ? say('value.null') : value === '' && field.type === 'string' ? say('value.empty_text') : undefined;
  const mode = modeOf(field);
  return (
    <TextField
      name={name}
      label={titleOf(field)}
      value={typeof value === 'string' ? value : ''}
      onChange={({ target }) => onChange(target.value === '' && canBeNull ? null : target.value)}
      onBlur={onBlur}
      inputRef={ref}
      multiline={isLong}
      minRows={isLong ? 3 : 1}
      maxRows={20}
      error={fault !== undefined}
      helperText={fault ?? helpOf(say, field)}
      autoComplete={field.sensitive === true ? 'new-password' : 'off'}
      type={field.sensitive === true && !isLong ? 'password' : 'text'}
      slotProps={{
        ...SHRUNK,
        htmlInput: {
          dir: isJson(field) ? 'ltr' : 'auto',
          placeholder,
          spellCheck: isLong && !isJson(field),
          ...(mode === undefined ? {} : { inputMode: mode }),
          style: isJson(field) ? { fontFamily: 'ui-monospace, monospace', fontSize: '0.85rem' } : {},
        },
      }}
    />
  );
}
