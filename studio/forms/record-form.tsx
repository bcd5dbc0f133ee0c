/** The form of a record: what is typed, what is sent, and what comes back. */
import { Alert, Box, Button, Paper, Typography } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { type FormEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { FormProvider, useForm, useWatch } from 'react-hook-form';
import { Link as RouterLink, useLocation, useNavigate } from 'react-router-dom';
import { listAddress } from '../app/kept-lists.ts';
import { MOD, useKeys } from '../app/keys.ts';
import { dropKeys, giveKeys, holdKeys } from '../app/typed-ahead.ts';
import { isValueObject } from '../data/json.ts';
import { can, fullestVariant, identifierOf, nameOf, recordPath, type TypeInfo, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { recordQuery, type StudioRecord } from '../data/provider.ts';
import type { Sent } from '../data/request.ts';
import { useText } from '../texts/texts.ts';
import { bodyOf, removesKeys } from './body.ts';
import { Conflict } from './conflict.tsx';
import { draftAnew, newDraft, type RecordDraft, recordDraft } from './draft.ts';
import { FormProblem } from './form-problem.tsx';
import { dropForm, keepForm, type KeptForm, keptForm } from './kept-draft.ts';
import { LeaveGuard } from './leave-guard.tsx';
import { RecordInputs } from './record-inputs.tsx';
import { typedSince } from './merge.ts';
import { inputFor } from './relation-input.tsx';
import { useSave } from './use-save.ts';

interface RecordFormProps {
  readonly type: TypeInfo;
  /** The stored record; undefined for a new one. */
  readonly record: StudioRecord | undefined;
  readonly draft: RecordDraft;
}

export function RecordForm({ type, record, draft }: RecordFormProps) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<Record<string, unknown>>({ defaultValues: { ...draft } });
  const { error, setError, isSaving, save: send } = useSave(type, form);
  // Changes are compared with this version, until someone else's takes its place.
  const [began, setBegan] = useState({ record, draft });
  const isSaved = useRef(false);
  const { pathname } = useLocation();
  // The library would render all inputs again with the first key.
  const isChanged = (): boolean => !isSaved.current && changesIn(form.getValues() as RecordDraft, began.draft) > 0;
  const { kept, drop } = useKept(
    pathname,
    (changed) => {
      const subscription = form.watch(changed);
      return () => subscription.unsubscribe();
    },
    () => (isChanged() ? { began, typed: form.getValues() as RecordDraft } : undefined),
  );
  const leave = (): void => {
    isSaved.current = true;
    dropForm(pathname);
  };
  useFocusOnFault(error);

  const save = async (from = began, isAgain = false): Promise<void> => {
    isSaved.current = false;
    const now = structuredClone(form.getValues() as RecordDraft);
    // What is typed meanwhile is meant for the next record.
    if (isAgain) holdKeys();
    const answer = await send(() => requestOf(from));
    if (answer === undefined) return dropKeys();
    const values = isValueObject(answer.body) ? answer.body : {};
    const etag = answer.headers.get('ETag') ?? undefined;
    const id = from.record?.id ?? identifierOf(type, values);
    finish({ id, values, etag }, from.record === undefined, now, isAgain);
  };

  const requestOf = (from: typeof began): Sent => {
    const { record: stored } = from;
    const before = stored === undefined ? {} : from.draft;
    const body = bodyOf({ model, type, path: '' }, form.getValues() as RecordDraft, before);
    const query = recordQuery(model, type, fullestVariant(type));
    if (stored === undefined) return { method: 'POST', target: `${type.path}?${query}`, body };
    return {
      method: removesKeys(model, type, body) ? 'PATCH' : 'PUT',
      target: `${type.path}/${encodeURIComponent(stored.id)}?${query}`,
      headers: stored.etag === undefined ? {} : { 'If-Match': stored.etag },
      body,
    };
  };

  const makeAnew = (): void => {
    const now = draftAnew(model, type, form.getValues() as RecordDraft);
    const anew = { record: undefined, draft: newDraft(type) };
    setBegan(anew);
    form.reset({ ...now }, { keepDefaultValues: true });
    void save(anew);
  };

  /** Text typed while the record was saved stays as an unsaved change. */
  const finish = (stored: StudioRecord, isNew: boolean, sent: RecordDraft, isAgain = false): void => {
    const later = typedSince(sent, form.getValues() as RecordDraft);
    const isAll = Object.keys(later).length === 0;
    isSaved.current = isAll && !isAgain;
    const saved = { record: stored, draft: recordDraft(model, type, stored.values) };
    // The form of a new record stays while the next page is loaded, and whoever is quick uses it again.
    const next = isNew && isAll ? { record: undefined, draft } : saved;
    setBegan(next);
    form.reset({ ...next.draft });
    for (const [key, value] of Object.entries(later)) form.setValue(key, value, { shouldDirty: true });
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== 'form' });
    notify(say(isAll ? 'form.saved' : 'form.saved_before', { name: nameOf(type, stored.values) }), { type: 'success' });
    if (!isAll) return;
    dropForm(pathname);
    if (!isAgain) return void navigate(recordPath(type, stored.id));
    focusFirst();
    void giveKeys();
  };

  const take = (one: KeptForm): void => {
    setBegan(one.began);
    form.reset({ ...one.began.draft });
    // Keys without a value are not kept.
    const names = [...new Set([...Object.keys(one.began.draft), ...Object.keys(one.typed)])];
    form.reset(Object.fromEntries(names.map((name) => [name, one.typed[name]])), { keepDefaultValues: true });
    drop();
  };

  const isNewForm = began.record === undefined;
  useKeys({
    'mod+s': () => void (isSaving || save()),
    'mod+enter': () => void (isSaving || save(began, isNewForm)),
  });
  useLayoutEffect(() => {
    holdKeys();
    // After the page, which takes the focus when it is opened.
    const timer = setTimeout(() => {
      focusFirst();
      void giveKeys();
    });
    return () => {
      clearTimeout(timer);
      void giveKeys();
    };
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // Not that of a dialog above the form.
    event.stopPropagation();
    if (!isSaving) void save();
  };
  return (
    <FormProvider {...form}>
      {kept !== undefined && (
        <Alert
          severity="info"
          sx={{ mb: 2 }}
          action={
            <>
              <Button color="inherit" size="small" onClick={() => take(kept)}>
                {say('form.take_kept')}
              </Button>
              <Button color="inherit" size="small" onClick={drop}>
                {say('form.drop_kept')}
              </Button>
            </>
          }
        >
          {say('form.kept')}
        </Alert>
      )}
      {error === undefined ? undefined : (
        <FormProblem
          error={error}
          draft={form.getValues() as RecordDraft}
          onRetry={() => void save()}
          onAnew={began.record !== undefined && can(type, 'create') ? makeAnew : undefined}
        />
      )}
      <Box component="form" noValidate onSubmit={submit}>
        <Paper variant="outlined" sx={{ p: { xs: 2, sm: 3 } }}>
          <RecordInputs type={type} path="" draft={began.draft} inputFor={inputFor} />
        </Paper>
        <Paper
          variant="outlined"
          sx={{
            position: 'sticky',
            bottom: 8,
            zIndex: 3,
            display: 'flex',
            flexWrap: 'wrap',
            alignItems: 'center',
            gap: 1,
            mt: 2,
            px: 2,
            py: 1,
          }}
        >
          <Changes
            count={(now) => changesIn(now, began.draft)}
            back={record === undefined ? listAddress(type.path) : recordPath(type, record.id)}
          />
          {isNewForm && (
            <Button disabled={isSaving} title={`${MOD}Enter`} onClick={() => void save(began, true)}>
              {say('form.save_and_new')}
            </Button>
          )}
          <Button type="submit" variant="contained" loading={isSaving}>
            {say('form.save')}
          </Button>
        </Paper>
      </Box>
      {began.record !== undefined && problemOf(error).status === 412 && (
        <Conflict
          type={type}
          began={began}
          mine={form.getValues() as RecordDraft}
          onClose={() => setError(undefined)}
          onSaved={(stored) => {
            setError(undefined);
            finish(stored, false, form.getValues() as RecordDraft);
          }}
          onTaken={(theirs, merged) => {
            setBegan(theirs);
            form.reset({ ...merged }, { keepDefaultValues: true });
            void save(theirs);
          }}
        />
      )}
      <LeaveGuard isOn={isChanged} onLeave={leave} />
    </FormProvider>
  );
}

/** Where people begin to type; on a phone, that would open its keyboard. */
function focusFirst(): void {
  if (!matchMedia('(pointer: fine)').matches) return;
  document
    .querySelector<HTMLElement>('main form :is(input, textarea, [role=combobox]):not([type=hidden], :disabled)')
    ?.focus();
}

/** How many values are not as they were: keys of the record itself. */
const changesIn = (now: RecordDraft, before: RecordDraft): number =>
  Object.keys(now).filter((key) => JSON.stringify(now[key]) !== JSON.stringify(before[key])).length;

/** It alone is rendered whenever something is typed. */
function Changes({ count, back }: { readonly count: (now: RecordDraft) => number; readonly back: string }) {
  const say = useText();
  const changes = count(useWatch() as RecordDraft);
  return (
    <>
      <Typography variant="body2" role="status" sx={{ flexGrow: 1, color: 'text.secondary' }}>
        {changes > 0 && say('form.changes', { smart_count: changes })}
      </Typography>
      <Button color="inherit" component={RouterLink} to={back}>
        {say(changes > 0 ? 'form.discard' : 'filter.cancel')}
      </Button>
    </>
  );
}

/** Between two moments at which what is typed is kept, in case that the tab ends. */
const KEEP_MS = 500;

/** Restores an unsaved draft of this page, and keeps the present one (`typed`) while the person types. */
function useKept(pathname: string, watch: (changed: () => void) => () => void, typed: () => KeptForm | undefined) {
  const [kept, setKept] = useState(() => keptForm(pathname));
  const latest = useRef(typed);
  latest.current = typed;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const keep = (): void => {
      timer = undefined;
      const form = latest.current();
      if (form === undefined) dropForm(pathname);
      else keepForm(pathname, form);
    };
    const unwatch = watch(() => (timer ??= setTimeout(keep, KEEP_MS)));
    return () => {
      unwatch();
      if (timer === undefined) return;
      clearTimeout(timer);
      keep();
    };
  }, [pathname]);
  const drop = (): void => {
    dropForm(pathname);
    setKept(undefined);
  };
  return { kept, drop };
}

function useFocusOnFault(error: unknown): void {
  useEffect(() => {
    if (error === undefined) return;
    const input = document.querySelector<HTMLElement>('main [aria-invalid="true"]');
    // Not under the bar below the form.
    input?.scrollIntoView({ block: 'center' });
    input?.focus({ preventScroll: true });
  }, [error]);
}
