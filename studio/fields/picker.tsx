/** A related record is found by typing a part of its name. */
import Autocomplete from '@mui/material/Autocomplete';
import TextField from '@mui/material/TextField';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { type RelationInfo, typeNamed, useModel } from '../data/model.ts';
import { problemText } from '../app/problem-alert.tsx';
import { useText } from '../texts/texts.ts';
import { type Choice, findChoices } from './search.ts';

interface PickerProps {
  readonly relation: RelationInfo;
  readonly label: string;
  readonly value: Choice | null;
  readonly onChange: (choice: Choice | null) => void;
  /** Chosen already, and not offered again. */
  readonly without?: readonly string[];
  readonly help?: ReactNode;
  readonly fault?: string | undefined;
  readonly isDisabled?: boolean;
  readonly inputRef?: React.Ref<HTMLInputElement>;
}

const PAUSE_MS = 250;

export function Picker({
  relation,
  label,
  value,
  onChange,
  without = [],
  help,
  fault,
  isDisabled = false,
  inputRef,
}: PickerProps) {
  const say = useText();
  const model = useModel();
  const type = typeNamed(model, relation.type);
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const wanted = usePaused(typed === value?.name ? '' : typed.trim());
  const {
    data = [],
    error,
    isFetching,
  } = useQuery({
    queryKey: ['choices', relation.type, relation.label, wanted],
    queryFn: ({ signal }) => findChoices(model, type, relation.label ?? type.label, { text: wanted }, signal),
    enabled: isOpen,
  });
  return (
    <Autocomplete
      options={data.filter(({ id }) => !without.includes(id))}
      value={value}
      open={isOpen}
      disabled={isDisabled}
      loading={isFetching}
      loadingText={say('app.loading')}
      openText={say('picker.open')}
      closeText={say('app.close')}
      clearText={say('picker.clear')}
      noOptionsText={error ? problemText(say, error) : say('picker.none')}
      filterOptions={(options) => options}
      getOptionKey={({ id }) => id}
      getOptionLabel={({ name }) => name}
      isOptionEqualToValue={(one, other) => one.id === other.id}
      onOpen={() => setOpen(true)}
      onClose={() => setOpen(false)}
      onChange={(_event, choice) => onChange(choice)}
      onInputChange={(_event, text) => setTyped(text)}
      renderInput={(props) => (
        <TextField
          {...props}
          sx={{ '& input': { unicodeBidi: 'plaintext' } }}
          label={label}
          helperText={fault ?? help}
          error={fault !== undefined}
          {...(inputRef === undefined ? {} : { inputRef })}
        />
      )}
    />
  );
}

function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
