/** The search over all types: opened by a key, and left by choosing. */
import { Autocomplete, Box, Dialog, TextField, Typography } from '@mui/material';
import type { PopperProps } from '@mui/material/Popper';
import { useQueries } from '@tanstack/react-query';
import { useLocaleState, useStore } from 'ra-core';
import { useEffect, useMemo, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { addressOf, SEARCH } from '../data/address.ts';
import { can, listedTypes, newPath, recordPath, type TypeInfo, useModel } from '../data/model.ts';
import { detailOf } from '../fields/detail.ts';
import { usePaused } from '../fields/paused.ts';
import { findInType } from '../fields/search.ts';
import { inSentence, LANGUAGES, numberText, type Say, useText } from '../texts/texts.ts';
import { ProblemAlert } from './problem-alert.tsx';
import { wantedBy } from './palette.ts';
import { APPEARANCES } from './settings-menu.tsx';
import type { Appearance } from './studio.tsx';

interface Option {
  readonly group: string;
  readonly key: string;
  readonly name: string;
  readonly detail?: string;
  readonly to?: string;
  /** What the page does at once. */
  readonly state?: { readonly open: 'export' };
  /** In place of an address. */
  readonly act?: () => void;
}

/** The options stand in the dialog itself. */
const Inline = ({ children }: PopperProps) => <div>{typeof children === 'function' ? undefined : children}</div>;

interface PaletteDialogProps {
  readonly onClose: () => void;
  readonly onKeys: () => void;
}

export default function PaletteDialog({ onClose, onKeys }: PaletteDialogProps) {
  const say = useText();
  const model = useModel();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const paused = usePaused(typed.trim());
  const listed = useMemo(() => listedTypes(model), [model]);
  const wanted = wantedBy(paused, listed);
  const asked = useQueries({
    queries: (wanted.text === '' ? [] : wanted.searched).map((type) => ({
      queryKey: ['palette', type.path, wanted.text],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => findInType(model, type, wanted.text, signal),
      gcTime: 0,
    })),
  });
  const isFetching = asked.some((one) => one.isFetching);
  const error = asked.find((one) => one.error !== null)?.error ?? null;
  const types = wantedBy(typed, listed).types.map((type): Option => {
    const { path, title } = type;
    return { group: say('search.types'), key: path, name: title.many, to: `/${path}` };
  });
  // In the order of the types: what is highlighted must not depend on which of them answers first.
  const unanswered = asked.findIndex(({ isPending }) => isPending);
  const answered = unanswered < 0 ? asked : asked.slice(0, unanswered);
  const found = answered.flatMap(({ data }) => data ?? []).filter(({ records }) => records.length > 0);
  const records = found.flatMap(({ type, records: some, total = some.length }) => [
    ...some.map(({ id, name, values }): Option => {
      const detail = `${type.title.one} ${detailOf(say, type, type.label, values)}`;
      return { group: say('search.records'), key: `${type.path} ${id}`, name, detail, to: recordPath(type, id) };
    }),
    ...(total > some.length
      ? [
          {
            group: say('search.records'),
            key: `${type.path} all`,
            name: say('search.count_in', { count: numberText(total), types: type.title.many }),
            to: `/${type.path}${addressOf(new URLSearchParams([[SEARCH, wanted.text]]))}`,
          },
        ]
      : []),
  ]);
  const [, setLocale] = useLocaleState();
  const [, setAppearance] = useStore<Appearance>('appearance', 'system');
  const settings: readonly (readonly [name: string, act: () => void])[] = [
    ...APPEARANCES.map(([one, key]) => [`${say('app.theme')}: ${say(key)}`, () => setAppearance(one)] as const),
    ...Object.entries(LANGUAGES).map(
      ([one, { name }]) => [`${say('language.choose')}: ${name}`, () => setLocale(one)] as const,
    ),
    [say('keys.title'), onKeys],
  ];
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const commands: readonly Option[] = [
    ...commandsFor(say, listed),
    ...settings.map(([name, act]): Option => ({ group: say('app.settings'), key: name, name, act })),
  ].filter(({ group, name }) => words.every((word) => `${group} ${name}`.toLowerCase().includes(word)));
  const options = text === '' ? types : [...types, ...records, ...commands];
  function choose({ to = '/', state, act }: Option): void {
    onClose();
    if (act) act();
    else void navigate(to, { state });
  }
  const [isMoved, setMoved] = useState(false);
  /** Enter came before the answers to what was typed: it means the first of them. */
  const [isAwaited, setAwaited] = useState(false);
  const isAnswered = paused === typed.trim() && !isFetching;
  useEffect(() => {
    if (!isAwaited || !isAnswered) return;
    setAwaited(false);
    if (options[0]) choose(options[0]);
  });
  return (
    <Dialog
      open
      onClose={onClose}
      fullWidth
      maxWidth="sm"
      aria-label={say('search.all')}
      sx={{ '& .MuiDialog-container': { alignItems: 'flex-start' } }}
    >
      <Autocomplete
        open
        autoHighlight
        options={options}
        filterOptions={(all) => all}
        groupBy={({ group }) => group}
        getOptionLabel={({ name }) => name}
        getOptionKey={({ key }) => key}
        inputValue={typed}
        value={null}
        loading={isFetching}
        loadingText={say('app.loading')}
        noOptionsText={say('picker.none')}
        forcePopupIcon={false}
        onInputChange={(_event, next, reason) => {
          if (reason !== 'input') return;
          setTyped(next);
          setMoved(false);
          setAwaited(false);
        }}
        onHighlightChange={() => setMoved(true)}
        onChange={(_event, option) => option && choose(option)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onClose();
          if (event.key !== 'Enter' || event.nativeEvent.isComposing || isAnswered || isMoved) return;
          event.defaultMuiPrevented = true;
          setAwaited(true);
        }}
        slots={{ popper: Inline }}
        slotProps={{ listbox: { sx: { maxHeight: '60vh' } } }}
        renderGroup={({ key, group, children }) => (
          <Box component="li" key={key} role="presentation">
            <Typography variant="body2" sx={{ px: 2, py: 0.75, color: 'text.secondary' }} aria-hidden>
              {group}
            </Typography>
            <Box component="ul" role="group" aria-label={group} sx={{ p: 0 }}>
              {children}
            </Box>
          </Box>
        )}
        renderOption={({ key: _key, ...props }, { key, name, detail }) => (
          <Box component="li" key={key} {...props} sx={{ display: 'flex', gap: 1.5, alignItems: 'baseline' }}>
            <bdi>{name}</bdi>
            {/* What it takes is what the name leaves. */}
            <Typography
              variant="body2"
              component="span"
              noWrap
              sx={{ color: 'text.secondary', flex: '1 1 0', minWidth: '30%' }}
            >
              <bdi>{detail}</bdi>
            </Typography>
          </Box>
        )}
        renderInput={(props) => (
          <TextField
            {...props}
            autoFocus
            placeholder={say('search.help')}
            sx={{ p: 2 }}
            slotProps={{
              ...props.slotProps,
              htmlInput: { ...props.slotProps?.htmlInput, 'aria-label': say('search.all') },
            }}
          />
        )}
      />
      {error !== null && <ProblemAlert error={error} />}
    </Dialog>
  );
}

function commandsFor(say: Say, listed: readonly TypeInfo[]): readonly Option[] {
  const group = say('search.commands');
  return listed.flatMap((type): readonly Option[] => [
    ...(can(type, 'create')
      ? [
          {
            group,
            key: `new ${type.path}`,
            name: say('list.create', { type: inSentence(type.title.one) }),
            to: newPath(type),
          },
        ]
      : []),
    {
      group,
      key: `export ${type.path}`,
      name: say('export.title', { types: inSentence(type.title.many) }),
      to: `/${type.path}`,
      state: { open: 'export' },
    },
  ]);
}
