/** One of a few values. */
import { MenuItem, TextField, type TextFieldProps } from '@mui/material';
import type { ReactNode } from 'react';

type SelectProps = Omit<TextFieldProps, 'select' | 'onChange' | 'children'> & {
  readonly options: readonly (readonly [value: string, text: ReactNode])[];
  readonly onChoose: (value: string) => void;
};

export const Select = ({ options, onChoose, ...props }: SelectProps) => (
  <TextField {...props} select onChange={({ target }) => onChoose(target.value)}>
    {options.map(([value, text]) => (
      <MenuItem key={value} value={value}>
        {text}
      </MenuItem>
    ))}
  </TextField>
);
