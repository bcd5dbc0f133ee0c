/** The form of a record: what is typed, what is sent, and what comes back. */
import Alert from '@mui/material/Alert';
import Box from '@mui/material/Box';
import Button from '@mui/material/Button';
import Paper from '@mui/material/Paper';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { FormProvider, useForm } from 'react-hook-form';
import { Link as RouterLink, useLocation, useNavigate } from 'react-router-dom';
import { CurlButton } from '../app/curl-button.tsx';
import { isValueObject } from '../data/json.ts';
import { can, fullestVariant, identifierOf, nameOf, recordPath, type TypeInfo, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { recordQuery, type StudioRecord } from '../data/provider.ts';
import { type Answer, send, type Sent } from '../data/request.ts';
import { useText } from '../texts/texts.ts';
import { bodyOf, DraftFault, removesKeys } from './body.ts';
import { Conflict } from './conflict.tsx';
import { draftAnew, newDraft, type RecordDraft, recordDraft } from './draft.ts';
import { FormProblem } from './form-problem.tsx';
import { messagesAt } from './faults.ts';
import { dropForm, keepForm, type KeptForm, keptForm } from './kept-draft.ts';
import { LeaveGuard } from './leave-guard.tsx';
import { RecordInputs } from './record-inputs.tsx';
import { inputFor } from './relation-input.tsx';

interface RecordFormProps {
  readonly type: TypeInfo;
  /** As it is stored; undefined of a new one. */
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
  const { isDirty } = form.formState;
  const [error, setError] = useState<unknown>();
  const [isSaving, setSaving] = useState(false);
  // What the changes are compared with: someone else's version takes its place.
  const [began, setBegan] = useState({ record, draft });
  const isSaved = useRef(false);
  const { kept, drop, leave } = useKept(() =>
    isDirty && !isSaved.current ? { began, typed: form.getValues() as RecordDraft } : undefined,
  );
  // Whatever becomes of the connection, one record is made.
  const key = useRef(randomText());
  useFocusOnFault(error);

  const save = async (from = began): Promise<void> => {
    isSaved.current = false;
    setError(undefined);
    form.clearErrors();
    const now = form.getValues() as RecordDraft;
    try {
      const request = requestOf(from);
      setSaving(true);
      finish(await send(request), from.record);
    } catch (problem) {
      refuseText(problem);
      for (const [input, fault] of messagesAt(problemOf(problem).errors, now)) form.setError(input, fault);
    } finally {
      setSaving(false);
    }
  };

  const requestOf = (from: typeof began): Sent => {
    const { record: stored } = from;
    const before = stored === undefined ? {} : from.draft;
    const body = bodyOf({ model, type, path: '' }, form.getValues() as RecordDraft, before);
    const query = recordQuery(model, type, fullestVariant(type));
    if (stored === undefined)
      return { method: 'POST', target: `${type.path}?${query}`, headers: { 'Idempotency-Key': key.current }, body };
    return {
      method: removesKeys(model, type, body) ? 'PATCH' : 'PUT',
      target: `${type.path}/${encodeURIComponent(stored.id)}?${query}`,
      headers: stored.etag === undefined ? {} : { 'If-Match': stored.etag },
      body,
    };
  };

  /** What is typed has to be JSON where JSON is wanted, before it can be sent. */
  const refuseText = (problem: unknown): void => {
    setError(problem);
    if (problem instanceof DraftFault)
      form.setError(problem.path, { message: say('form.not_json', { message: problem.message }) });
  };

  const requestShown = (): Sent | undefined => {
    try {
      return requestOf(began);
    } catch (problem) {
      refuseText(problem);
      return undefined;
    }
  };

  const makeAnew = (): void => {
    const now = draftAnew(model, type, form.getValues() as RecordDraft);
    const anew = { record: undefined, draft: newDraft(type) };
    setBegan(anew);
    form.reset({ ...now }, { keepDefaultValues: true });
    void save(anew);
  };

  const finish = ({ body, headers }: Answer, before: StudioRecord | undefined): void => {
    const values = isValueObject(body) ? body : {};
    isSaved.current = true;
    // The form stays while the next page is loaded, and whoever is quick uses it again.
    if (before === undefined) key.current = randomText();
    const stored = { id: before?.id ?? '', values, etag: headers.get('ETag') ?? undefined };
    const next =
      before === undefined ? { record: before, draft } : { record: stored, draft: recordDraft(model, type, values) };
    setBegan(next);
    form.reset({ ...next.draft });
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== 'form' });
    notify(say('form.saved', { name: nameOf(type, values) }), { type: 'success' });
    void navigate(recordPath(type, before?.id ?? identifierOf(type, values)));
  };

  const take = (one: KeptForm): void => {
    setBegan(one.began);
    form.reset({ ...one.began.draft });
    // Keys without a value are not kept.
    const names = [...new Set([...Object.keys(one.began.draft), ...Object.keys(one.typed)])];
    form.reset(Object.fromEntries(names.map((name) => [name, one.typed[name]])), { keepDefaultValues: true });
    drop();
  };

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
          <RecordInputs type={type} path="" draft={began.draft} values={began.record?.values} inputFor={inputFor} />
        </Paper>
        <Box
          sx={{
            position: 'sticky',
            bottom: 0,
            zIndex: 1,
            display: 'flex',
            gap: 1,
            py: 2,
            bgcolor: 'background.default',
          }}
        >
          <Button type="submit" variant="contained" loading={isSaving}>
            {say('form.save')}
          </Button>
          <Button
            color="inherit"
            component={RouterLink}
            to={record === undefined ? `/${type.path}` : recordPath(type, record.id)}
          >
            {say('filter.cancel')}
          </Button>
          <CurlButton sent={requestShown} />
        </Box>
      </Box>
      {began.record !== undefined && problemOf(error).status === 412 && (
        <Conflict
          type={type}
          began={began}
          mine={form.getValues() as RecordDraft}
          onClose={() => setError(undefined)}
          onTaken={(theirs, merged) => {
            setBegan(theirs);
            form.reset({ ...merged }, { keepDefaultValues: true });
            void save(theirs);
          }}
        />
      )}
      <LeaveGuard isOn={() => isDirty && !isSaved.current} onLeave={leave} />
    </FormProvider>
  );
}

/** `crypto.randomUUID` is there on secure origins only. */
const randomText = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** What was typed here before, and is not saved; `typed`: what would be lost now. */
function useKept(typed: () => KeptForm | undefined) {
  const { pathname } = useLocation();
  const [kept, setKept] = useState(() => keptForm(pathname));
  const hasLeft = useRef(false);
  const latest = useRef(typed);
  latest.current = typed;
  useEffect(
    () => () => {
      const form = hasLeft.current || location.hash.split('?')[0] === `#${pathname}` ? undefined : latest.current();
      if (form !== undefined) keepForm(pathname, form);
    },
    [pathname],
  );
  const drop = (): void => {
    dropForm(pathname);
    setKept(undefined);
  };
  const leave = (): void => {
    hasLeft.current = true;
  };
  return { kept, drop, leave };
}

function useFocusOnFault(error: unknown): void {
  useEffect(() => {
    if (error === undefined) return;
    const input = document.querySelector<HTMLElement>('main [aria-invalid="true"]');
    input?.focus();
  }, [error]);
}
