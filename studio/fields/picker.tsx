/** A related record is found by typing a part of its name. */
import { Autocomplete, Box, TextField, Typography } from '@mui/material';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useEffect, useState } from 'react';
import { type RelationInfo, typeNamed, useModel } from '../data/model.ts';
import { problemText } from '../app/problem-alert.tsx';
import { dropKeys, giveKeys, holdKeys } from '../app/typed-ahead.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { detailOf } from './detail.ts';
import { usePaused } from './paused.ts';
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
  /** Makes another record, of what was typed. Undefined: none can be made here. */
  readonly onMake?: ((typed: string) => void) | undefined;
}

/** No record has it. */
const MAKE = '';

export function Picker({
  relation,
  label,
  value,
  onChange,
  without = [],
  help,
  fault,
  isDisabled = false,
  onMake,
}: PickerProps) {
  const say = useText();
  const model = useModel();
  const type = typeNamed(model, relation.type);
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const [isEntered, setEntered] = useState(false);
  const wanted = usePaused(typed === value?.name ? '' : typed.trim());
  const {
    data = [],
    error,
    isFetching,
  } = useQuery({
    queryKey: ['choices', relation.type, relation.label, wanted],
    queryFn: ({ signal }) => findChoices(model, type, relation.label ?? type.label, { text: wanted }, signal),
    enabled: isOpen,
    placeholderData: keepPreviousData,
  });
  const offered = data.filter(({ id }) => !without.includes(id));
  const isMissing = onMake !== undefined && !isFetching && typed.trim() !== '' && typed !== value?.name;
  const make = say('list.create', { type: inSentence(type.title.one) });
  const making: Choice = { id: MAKE, name: offered.length > 0 ? make : `${say('picker.none')} · ${make}` };
  const take = (choice: Choice | null): void => {
    if (choice?.id === MAKE) onMake?.(typed.trim());
    else onChange(choice);
  };
  // Enter chooses the record that is marked, or the only one that was found; it never sends a form whose text stands for none.
  const guard = (event: KeyboardEvent): void => {
    const isMarked = event.target instanceof Element && event.target.hasAttribute('aria-activedescendant');
    if (event.key !== 'Enter' || isMarked || typed === (value?.name ?? '')) return;
    event.preventDefault();
    holdKeys();
    setEntered(true);
  };
  // Enter may come before what is looked for is found.
  const isFound = !isFetching && wanted === typed.trim();
  useEffect(() => {
    if (!isEntered || !isFound) return;
    setEntered(false);
    const [only] = offered;
    if (only === undefined || offered.length > 1) return dropKeys();
    onChange(only);
    setOpen(false);
    void giveKeys();
  }, [isEntered, isFound]);
  return (
    <Autocomplete
      fullWidth
      onKeyDown={guard}
      renderOption={({ key: _key, ...props }, choice) => (
        <li key={choice.id} {...props}>
          <Box sx={{ minWidth: 0 }}>
            <bdi>{choice.name}</bdi>
            {choice.values !== undefined && (
              <Typography variant="body2" component="div" noWrap sx={{ color: 'text.secondary' }}>
                <bdi>{detailOf(say, type, relation.label ?? type.label, choice.values)}</bdi>
              </Typography>
            )}
          </Box>
        </li>
      )}
      options={isMissing ? [...offered, making] : offered}
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
      onChange={(_event, choice) => take(choice)}
      onInputChange={(_event, text) => setTyped(text)}
      renderInput={(props) => (
        <TextField
          {...props}
          sx={{ '& input': { unicodeBidi: 'plaintext' } }}
          label={label}
          helperText={fault ?? help}
          error={fault !== undefined}
        />
      )}
    />
  );
}
