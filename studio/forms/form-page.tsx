/** A new record, or a change of one that is there. */
import { Box, Link } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useDataProvider } from 'ra-core';
import { useMemo, useState } from 'react';
import { Link as RouterLink, useLocation } from 'react-router-dom';
import { listAddress } from '../app/kept-lists.ts';
import { Heading } from '../app/heading.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import type { ValueObject } from '../data/json.ts';
import {
  fullestVariant,
  identifierOf,
  inForm,
  nameOf,
  recordPath,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { findChoices } from '../fields/search.ts';
import { type Draft, draftAnew, keyOf, newDraft, type RecordDraft, recordDraft } from './draft.ts';
import { likeDraft, linkTo, openedDraft, prefilledBy } from './prefilled.ts';
import { RecordForm } from './record-form.tsx';

interface FormPageProps {
  readonly type: TypeInfo;
  /** Undefined: a new record. */
  readonly id?: string;
}

export default function FormPage({ type: all, id }: FormPageProps) {
  const type = useMemo(() => inForm(all, id === undefined ? 'create' : 'update'), [all, id]);
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

/** Begins empty, like another record, or with what it belongs to. */
function NewForm({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const model = useModel();
  const provider = useDataProvider();
  const { search } = useLocation();
  const [{ from, links }] = useState(() => prefilledBy(model, type, search));
  const { data, error, refetch } = useQuery({
    queryKey: [type.path, 'form', 'new', search],
    queryFn: async ({ signal }): Promise<RecordDraft> => {
      const linked = links.map(async ([name, id]): Promise<readonly [string, Draft]> => {
        const relation = type.relations.find((one) => one.name === name);
        if (relation === undefined) return [keyOf(name), null];
        const [found] = await findChoices(model, typeNamed(model, relation.type), relation.label, { id }, signal);
        return [keyOf(name), found === undefined ? null : linkTo(id, found.name)];
      });
      const meta = { variant: fullestVariant(type) };
      const like =
        from === undefined ? undefined : (await provider.getOne<StudioRecord>(type.path, { id: from, meta })).data;
      const begun =
        like === undefined
          ? newDraft(type)
          : likeDraft(type, draftAnew(model, type, recordDraft(model, type, like.values)));
      return { ...begun, ...Object.fromEntries(await Promise.all(linked)) };
    },
    staleTime: Infinity,
    gcTime: 0,
    enabled: from !== undefined || links.length > 0,
  });
  const empty = useMemo(() => newDraft(type), [type]);
  const draft = from === undefined && links.length === 0 ? empty : data;
  if (error) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (draft === undefined) return <Waiting />;
  return (
    <>
      <Heading text={say('list.create', { type: inSentence(type.title.one) })} sx={{ my: 2 }} />
      <RecordForm type={type} record={undefined} draft={draft} />
    </>
  );
}

function EditForm({ type, id }: { readonly type: TypeInfo; readonly id: string }) {
  const say = useText();
  const model = useModel();
  const [opened] = useState(useLocation().search);
  const provider = useDataProvider();
  const { data, error, refetch } = useQuery<StudioRecord>({
    queryKey: [type.path, 'form', id],
    queryFn: async () =>
      (await provider.getOne<StudioRecord>(type.path, { id, meta: { variant: fullestVariant(type) } })).data,
    // A record is not read again while a person edits it.
    staleTime: Infinity,
    gcTime: 0,
  });
  const draft = useMemo(
    () => (data === undefined ? undefined : openedDraft(opened, recordDraft(model, type, data.values))),
    [model, type, data, opened],
  );
  if (error) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (data === undefined || draft === undefined) return <Waiting />;
  return (
    <>
      <Heading text={say('form.edit', { name: calledIn(type, data.values) })} sx={{ my: 2 }} />
      <RecordForm type={type} record={data} draft={draft} />
    </>
  );
}

/** Within a sentence: "order 2026-1500". */
function calledIn(type: TypeInfo, values: ValueObject): string {
  const name = nameOf(type, values);
  const own = `${type.title.one} ${identifierOf(type, values)}`;
  return inSentence(name === own ? own : `${type.title.one} ${name}`);
}
