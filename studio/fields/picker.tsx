/** A related record is found by typing a part of its name. */
import { Autocomplete, Box, TextField, Typography } from '@mui/material';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, type UIEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { type RelationInfo, typeNamed, useModel } from '../data/model.ts';
import { problemText } from '../app/problem-alert.tsx';
import { dropKeys, giveKeys, holdKeys } from '../app/typed-ahead.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { detailOf } from './detail.ts';
import { usePaused } from './paused.ts';
import { type Choice, findChoices, MAX_FOUND } from './search.ts';

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
  const [most, setMost] = useState(MAX_FOUND);
  const listbox = useRef<HTMLUListElement>(null);
  const scrolled = useRef(0);
  const wanted = usePaused(typed === value?.name ? '' : typed.trim());
  const {
    data = [],
    error,
    isFetching,
  } = useQuery({
    queryKey: ['choices', relation.type, relation.label, wanted, most],
    queryFn: ({ signal }) => findChoices(model, type, relation.label ?? type.label, { text: wanted, most }, signal),
    enabled: isOpen,
    placeholderData: keepPreviousData,
  });
  // Scrolling to the end loads more choices and keeps the position.
  const more = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: UIEvent): void => {
    scrolled.current = scrollTop;
    const isAtEnd = scrollTop + clientHeight > scrollHeight - clientHeight / 2;
    if (isAtEnd && !isFetching && data.length >= most) setMost(Math.min(2 * most, type.list.maxLimit));
  };
  const offered = data.filter(({ id }) => !without.includes(id));
  const isMissing = onMake !== undefined && !isFetching && typed.trim() !== '' && typed !== value?.name;
  const make = say('form.create', { type: inSentence(type.title.one) });
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
  useLayoutEffect(() => {
    if (listbox.current !== null && most > MAX_FOUND) listbox.current.scrollTop = scrolled.current;
  }, [data, most]);
  return (
    <Autocomplete
      fullWidth
      onKeyDown={guard}
      slotProps={{ listbox: { onScroll: more, ref: listbox } }}
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
      onOpen={() => {
        setMost(MAX_FOUND);
        setOpen(true);
      }}
      onClose={() => setOpen(false)}
      onChange={(_event, choice) => take(choice)}
      onInputChange={(_event, text) => {
        setTyped(text);
        setMost(MAX_FOUND);
      }}
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
