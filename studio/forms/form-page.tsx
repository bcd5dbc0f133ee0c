/** A new record, or a change of one that is there. */
import Box from '@mui/material/Box';
import Link from '@mui/material/Link';
import { useQuery } from '@tanstack/react-query';
import { useDataProvider } from 'ra-core';
import { useMemo } from 'react';
import { Link as RouterLink } from 'react-router-dom';
import { listAddress } from '../app/kept-lists.ts';
import { Heading } from '../app/heading.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import { fullestVariant, nameOf, recordPath, type TypeInfo, useModel } from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { newDraft, recordDraft } from './draft.ts';
import { RecordForm } from './record-form.tsx';

interface FormPageProps {
  readonly type: TypeInfo;
  /** Undefined: a new record. */
  readonly id?: string;
}

export default function FormPage({ type, id }: FormPageProps) {
  return (
    <Box sx={{ maxWidth: '68rem' }}>
      <Link
        component={RouterLink}
        to={id === undefined ? listAddress(type.path) : recordPath(type, id)}
        variant="body2"
      >
        {id === undefined ? type.title.many : `${type.title.one} ${id}`}
      </Link>
      {id === undefined ? <NewForm type={type} /> : <EditForm type={type} id={id} />}
    </Box>
  );
}

function NewForm({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const draft = useMemo(() => newDraft(type), [type]);
  return (
    <>
      <Heading text={say('form.new', { type: inSentence(type.title.one) })} sx={{ my: 2 }} />
      <RecordForm type={type} record={undefined} draft={draft} />
    </>
  );
}

function EditForm({ type, id }: { readonly type: TypeInfo; readonly id: string }) {
  const say = useText();
  const model = useModel();
  const provider = useDataProvider();
  const { data, error, refetch } = useQuery<StudioRecord>({
    queryKey: [type.path, 'form', id],
    queryFn: async () =>
      (await provider.getOne<StudioRecord>(type.path, { id, meta: { variant: fullestVariant(type) } })).data,
    // What a person edits is not read again beneath them.
    staleTime: Infinity,
    gcTime: 0,
  });
  const draft = useMemo(
    () => (data === undefined ? undefined : recordDraft(model, type, data.values)),
    [model, type, data],
  );
  if (error) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (data === undefined || draft === undefined) return <Waiting />;
  return (
    <>
      <Heading text={say('form.edit', { name: nameOf(type, data.values) })} sx={{ my: 2 }} />
      <RecordForm type={type} record={data} draft={draft} />
    </>
  );
}
