/** Someone else has changed the record meanwhile: mine, theirs and what was there, to choose from. */
import { Alert, Box, Button, FormControlLabel, Radio, RadioGroup, Stack, Typography } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useDataProvider } from 'ra-core';
import { useEffect, useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import { Window } from '../app/window.tsx';
import {
  fullestVariant,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { plainText } from '../presentations/plain.ts';
import { type Say, useText } from '../texts/texts.ts';
import { type Draft, isInline, type Item, itemsOf, keyOf, type RecordDraft, recordDraft } from './draft.ts';
import type { KeptForm } from './kept-draft.ts';
import { type Member, mergeOf, type Side } from './merge.ts';

type Version = KeptForm['began'];

interface ConflictProps {
  readonly type: TypeInfo;
  readonly began: Version;
  readonly mine: RecordDraft;
  readonly onClose: () => void;
  /** The version that is stored, and what is to be saved over it. */
  readonly onTaken: (theirs: Version, merged: RecordDraft) => void;
  /** Called when the stored values are those that were to be saved. */
  readonly onSaved: (record: StudioRecord) => void;
}

export function Conflict({ type, began, mine, onClose, onTaken, onSaved }: ConflictProps) {
  const say = useText();
  const model = useModel();
  const provider = useDataProvider();
  const recordId = began.record?.id ?? '';
  const { data, error } = useQuery<StudioRecord>({
    queryKey: [type.path, 'conflict', recordId],
    queryFn: async () =>
      (await provider.getOne<StudioRecord>(type.path, { id: recordId, meta: { variant: fullestVariant(type) } })).data,
    gcTime: 0,
    // The values that a person chooses from must not change meanwhile.
    refetchOnWindowFocus: false,
  });
  const [chosen, setChosen] = useState<Readonly<Record<string, Side>>>({});
  const theirs = data === undefined ? undefined : recordDraft(model, type, data.values);
  const versions = theirs && { was: began.draft, mine, theirs };
  const sideOf = (id: string): Side => chosen[id] ?? 'mine';
  const merge = versions && mergeOf(model, type, versions, sideOf);
  const take = (): void => {
    if (data !== undefined && theirs !== undefined && merge !== undefined)
      onTaken({ record: data, draft: theirs }, merge.draft);
  };
  // A conflict without contradictions is merged without a question.
  useEffect(() => {
    if (data === undefined || merge === undefined || merge.questions.length > 0) return;
    if (merge.isSaved) onSaved(data);
    else take();
  }, [data]);
  if (merge !== undefined && merge.questions.length === 0) return undefined;
  return (
    <Window
      title={say('conflict.title')}
      width="md"
      onClose={onClose}
      closeText={say('conflict.back')}
      actions={
        <Button variant="contained" disabled={theirs === undefined} onClick={take}>
          {say('conflict.save')}
        </Button>
      }
    >
      <Stack spacing={2}>
        <Alert severity="warning">{say('conflict.text')}</Alert>
        {error ? <ProblemAlert error={error} /> : theirs === undefined ? <Waiting /> : undefined}
        {merge?.questions.map(({ id, within, title = say('record.other_keys'), was, ...question }) => (
          <Box key={id} component="fieldset" sx={{ border: 1, borderColor: 'divider', borderRadius: 1, m: 0 }}>
            <legend>{[...within, title].join(' › ')}</legend>
            <Typography variant="body2" sx={{ color: 'text.secondary' }}>
              {say('conflict.was', { value: shown(say, was, model, question) })}
            </Typography>
            <RadioGroup
              value={sideOf(id)}
              onChange={(_event, side) => setChosen({ ...chosen, [id]: side === 'mine' ? 'mine' : 'theirs' })}
            >
              {(['mine', 'theirs'] as const).map((side) => (
                <FormControlLabel
                  key={side}
                  value={side}
                  control={<Radio size="small" />}
                  label={say(`conflict.${side}`, { value: shown(say, question[side], model, question) })}
                />
              ))}
            </RadioGroup>
          </Box>
        ))}
      </Stack>
    </Window>
  );
}

function shown(
  say: Say,
  draft: Draft,
  model: StudioModel,
  { field, relation }: Pick<Member, 'field' | 'relation'>,
): string {
  if (draft === null || draft === undefined) return say('value.null');
  if (typeof draft === 'boolean') return say(draft ? 'value.yes' : 'value.no');
  if (typeof draft === 'string')
    return draft === '' ? say('value.empty_text') : field === undefined ? draft : plainText(say, field, draft);
  const items = itemsOf(draft);
  return items.length === 0
    ? say('record.no_related')
    : items.map((item) => shownItem(say, item, model, relation)).join('; ');
}

/** Its name, and of a record that belongs to this one its values. */
function shownItem(
  say: Say,
  { name, record: edited, stored }: Item,
  model: StudioModel,
  relation: RelationInfo | undefined,
): string {
  const record = edited ?? stored;
  if (record === null || relation === undefined || !isInline(relation)) return name;
  const type = typeNamed(model, relation.type);
  const values = [...type.fields, ...type.relations].flatMap((member) => {
    const value = record[keyOf(member.name)];
    const text = shown(say, value, model, 'kind' in member ? { relation: member } : { field: member });
    return value === undefined || value === null || text === name ? [] : [`${member.title}: ${text}`];
  });
  return [name, ...values].filter(Boolean).join(', ');
}
