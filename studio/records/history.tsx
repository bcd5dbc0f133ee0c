/** The history of a record: who changed it when, field by field, and putting a change back. */
import { Box, Button, Paper, Stack, Typography } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { useState } from 'react';
import { worded } from '../app/fault-text.ts';
import { Grid } from '../app/grid.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import { isValueList, isValueObject, textOf, type Value, type ValueObject } from '../data/json.ts';
import { useLog } from '../data/log.ts';
import { can, identifierOf, isChosen, type TypeInfo, typeNamed, useModel } from '../data/model.ts';
import { recordQuery, type StudioRecord } from '../data/provider.ts';
import { send } from '../data/request.ts';
import { type Member, MemberValue } from '../fields/member-value.tsx';
import { useNames } from '../fields/names.ts';
import { isWritable } from '../presentations/field-draft.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { timeText } from '../presentations/times.ts';
import { useText } from '../texts/texts.ts';

interface HistoryProps {
  readonly type: TypeInfo;
  readonly record: StudioRecord;
  readonly variant: string | undefined;
}

export default function History(props: HistoryProps) {
  const { type, record } = props;
  const say = useText();
  const { entries, error, isFetching, more, retry } = useLog(type, `${encodeURIComponent(record.id)}/$history`);
  if (error) return <ProblemAlert error={error} onRetry={retry} />;
  if (entries === undefined) return <Waiting />;
  if (entries.length === 0) return <Typography>{say('history.none')}</Typography>;
  const requests = Map.groupBy(entries, ({ request, at, by }) => [request, at, by].map(textOf).join('\n'));
  return (
    <Stack spacing={1.5}>
      {[...requests].map(([key, some]) => (
        <Paper key={key} variant="outlined" component="section" sx={{ p: 2 }}>
          <Typography variant="body2" sx={{ color: 'text.secondary' }}>
            <bdi>{textOf(some[0]?.['by']) || say('history.unknown')}</bdi> ·{' '}
            {timeText(textOf(some[0]?.['at']), pageLanguage())}
          </Typography>
          {some.map((entry) => (
            <Change key={textOf(entry['cursor'])} {...props} entry={entry} />
          ))}
        </Paper>
      ))}
      {more !== undefined && (
        <Button onClick={more} loading={isFetching} sx={{ justifySelf: 'start' }}>
          {say('history.more')}
        </Button>
      )}
    </Stack>
  );
}

interface ChangeProps extends HistoryProps {
  readonly entry: ValueObject;
}

/** What one entry says of the record, or of one that belongs to it. */
function Change(props: ChangeProps) {
  const { type, record, entry } = props;
  const say = useText();
  const { types } = useModel();
  const own = types.get(textOf(entry['type']));
  if (own === undefined) return undefined;
  const id = textOf(entry['identifier']);
  const isSelf = own.type === type.type && id === record.id;
  const operation = OPERATIONS.find((one) => one === entry['operation']) ?? 'update';
  const [was, is] = [valuesIn(entry['old']), valuesIn(entry['new'])];
  const members = membersOf(own).filter(({ name }) => name in was || name in is);
  const relation = own.relations.find(({ name }) => name === entry['relation']);
  const linked = relation && `${relation.title} ${textOf(entry['related'])}`;
  const kept = isValueList(entry['unrecorded']) ? entry['unrecorded'].map(textOf) : [];
  const hidden = own.fields.filter(({ name }) => kept.includes(name)).map(({ title }) => title);
  return (
    <Box sx={{ mt: 1 }}>
      <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, mb: 0.5 }}>
        <Typography sx={{ flexGrow: 1 }}>
          {isSelf ? '' : `${own.title.one} ${id}: `}
          {say(`history.${operation}`)} {linked}
        </Typography>
        {isSelf && operation === 'update' && <PutBack {...props} was={was} />}
      </Box>
      {members.length > 0 && (
        <Grid
          label={say('history.changes')}
          rows={members.map((member) => ({
            key: member.name,
            cells: [
              member.title,
              <span key="change">
                {operation === 'update' && (
                  <>
                    <Named member={member} value={was[member.name]} /> →{' '}
                  </>
                )}
                <Named member={member} value={(operation === 'delete' ? was : is)[member.name]} />
              </span>,
            ],
          }))}
        />
      )}
      {hidden.length > 0 && (
        <Typography variant="body2">{say('history.unrecorded', { fields: hidden.join(', ') })}</Typography>
      )}
    </Box>
  );
}

const OPERATIONS = ['create', 'update', 'delete', 'link', 'unlink'] as const;

const valuesIn = (value: Value | undefined): ValueObject => (isValueObject(value) ? value : {});

const membersOf = ({ fields, relations }: TypeInfo): readonly Member[] => [
  ...fields.map((field) => ({ name: field.name, title: field.title, field })),
  ...relations.map((relation) => ({ name: relation.name, title: relation.title, relation })),
];

/** Entries have the identifiers of related records; people know their names. */
function Named({ member, value }: { readonly member: Member; readonly value: Value | undefined }) {
  const model = useModel();
  const { relation } = member;
  const target = relation && typeNamed(model, relation.type);
  const id = target && isValueObject(value) ? identifierOf(target, value) : undefined;
  const nameOf = useNames(relation === undefined || id === undefined ? [] : [{ relation, id }]);
  const name = target && id !== undefined && nameOf(target.type, id);
  return name ? <bdi>{name}</bdi> : <MemberValue member={member} value={value} />;
}

/** Undoes one change: the values from before are written again, if nobody has changed the record since it was read. */
function PutBack({ type, record, variant, was }: ChangeProps & { readonly was: ValueObject }) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>();
  const writable = [...type.fields.filter(isWritable), ...type.relations].filter((member) =>
    isChosen(member, 'update'),
  );
  const names = writable.map(({ name }) => name).filter((name) => name in was && name in record.values);
  if (!can(type, 'update') || names.length === 0) return undefined;
  const put = async (): Promise<void> => {
    const target = `${type.path}/${encodeURIComponent(record.id)}?${recordQuery(model, type, variant)}`;
    const headers: Readonly<Record<string, string>> = record.etag === undefined ? {} : { 'If-Match': record.etag };
    const body = Object.fromEntries(names.map((name) => [name, was[name] ?? null]));
    try {
      await send({ method: 'PATCH', target, headers, body });
      setError(undefined);
      notify(say('history.was_put_back'), { type: 'success' });
    } catch (refused) {
      setError(worded(say, model, type, refused));
    }
    await queries.invalidateQueries();
  };
  return (
    <>
      {error !== undefined && <ProblemAlert error={error} />}
      <Button size="small" onClick={() => void put()}>
        {say('history.put_back')}
      </Button>
    </>
  );
}
