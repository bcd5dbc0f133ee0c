/** Someone else has changed the record meanwhile: mine, theirs and what was there, to choose from. */
import {
  Alert,
  Box,
  Button,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  FormControlLabel,
  Radio,
  RadioGroup,
  Typography,
} from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useDataProvider } from 'ra-core';
import { useEffect, useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import {
  type FieldInfo,
  fullestVariant,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { isWritable } from '../presentations/field-draft.ts';
import { plainText } from '../presentations/plain.ts';
import { type Say, useText } from '../texts/texts.ts';
import { type Draft, type Item, itemsOf, keyOf, OTHER_KEYS, type RecordDraft, recordDraft } from './draft.ts';
import { mergeOf } from './merge.ts';

interface Version {
  readonly record: StudioRecord | undefined;
  readonly draft: RecordDraft;
}

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

type Side = 'mine' | 'theirs';

export function Conflict({ type, began, mine, onClose, onTaken, onSaved }: ConflictProps) {
  const say = useText();
  const model = useModel();
  const provider = useDataProvider();
  const id = began.record?.id ?? '';
  const { data, error } = useQuery<StudioRecord>({
    queryKey: [type.path, 'conflict', id],
    queryFn: async () =>
      (await provider.getOne<StudioRecord>(type.path, { id, meta: { variant: fullestVariant(type) } })).data,
    gcTime: 0,
    // The values that a person chooses from must not change meanwhile.
    refetchOnWindowFocus: false,
  });
  const [chosen, setChosen] = useState<Readonly<Record<string, Side>>>({});
  const theirs = data === undefined ? undefined : recordDraft(model, type, data.values);
  const keys = keysOf(type, say('record.other_keys'));
  const merge =
    theirs === undefined
      ? undefined
      : mergeOf(
          keys.map(({ key }) => key),
          began.draft,
          mine,
          theirs,
        );
  const asked = keys.filter(({ key }) => merge?.asked.includes(key) === true);
  const sideOf = (key: string): Side => chosen[key] ?? 'mine';
  const take = (): void => {
    if (data === undefined || theirs === undefined || merge === undefined) return;
    const kept = [...merge.mine, ...merge.asked.filter((key) => sideOf(key) === 'mine')];
    const values = kept.map((key): [string, Draft] => [key, mine[key]]);
    onTaken({ record: data, draft: theirs }, { ...theirs, ...Object.fromEntries(values) });
  };
  // A conflict without contradictions is merged without a question.
  useEffect(() => {
    if (data === undefined || merge === undefined || merge.asked.length > 0) return;
    if (merge.isSaved) onSaved(data);
    else take();
  }, [data]);
  if (merge !== undefined && merge.asked.length === 0) return undefined;
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="md" aria-labelledby="conflict-title">
      <DialogTitle id="conflict-title">{say('conflict.title')}</DialogTitle>
      <DialogContent sx={{ display: 'grid', gap: 2 }}>
        <Alert severity="warning">{say('conflict.text')}</Alert>
        {error ? <ProblemAlert error={error} /> : theirs === undefined ? <Waiting /> : undefined}
        {theirs !== undefined &&
          asked.map(({ key, title, ...member }) => (
            <Box key={key} component="fieldset" sx={{ border: 1, borderColor: 'divider', borderRadius: 1, m: 0 }}>
              <legend>{title}</legend>
              <Typography variant="body2" sx={{ color: 'text.secondary' }}>
                {say('conflict.was', { value: shown(say, began.draft[key], model, member) })}
              </Typography>
              <RadioGroup
                value={sideOf(key)}
                onChange={(_event, side) => setChosen({ ...chosen, [key]: side === 'mine' ? 'mine' : 'theirs' })}
              >
                <FormControlLabel
                  value="mine"
                  control={<Radio size="small" />}
                  label={say('conflict.mine', { value: shown(say, mine[key], model, member) })}
                />
                <FormControlLabel
                  value="theirs"
                  control={<Radio size="small" />}
                  label={say('conflict.theirs', { value: shown(say, theirs[key], model, member) })}
                />
              </RadioGroup>
            </Box>
          ))}
      </DialogContent>
      <DialogActions>
        <Button color="inherit" onClick={onClose}>
          {say('conflict.back')}
        </Button>
        <Button variant="contained" disabled={theirs === undefined} onClick={take}>
          {say('conflict.save')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

interface Member {
  readonly field?: FieldInfo;
  readonly relation?: RelationInfo;
}
interface Key extends Member {
  readonly key: string;
  readonly title: string;
}

function keysOf({ fields, relations, open }: TypeInfo, other: string): readonly Key[] {
  const named = [
    ...fields.filter(isWritable).map((field) => ({ key: keyOf(field.name), title: field.title, field })),
    ...relations
      .filter(({ readOnly }) => !readOnly)
      .map((relation) => ({ key: keyOf(relation.name), title: relation.title, relation })),
  ];
  return open ? [...named, { key: OTHER_KEYS, title: other }] : named;
}

function shown(say: Say, draft: Draft, model: StudioModel, { field, relation }: Member = {}): string {
  if (draft === null || draft === undefined) return say('value.null');
  if (typeof draft === 'boolean') return say(draft ? 'value.yes' : 'value.no');
  if (typeof draft === 'string')
    return draft === '' ? say('value.empty_text') : field === undefined ? draft : plainText(say, field, draft);
  const items = itemsOf(draft);
  return items.length === 0
    ? say('record.no_related')
    : items.map((item) => shownItem(say, item, model, relation)).join('; ');
}

/** Its name, and the values that are edited within the form. */
function shownItem(
  say: Say,
  { name, record: edited, stored }: Item,
  model: StudioModel,
  relation?: RelationInfo,
): string {
  const record = edited ?? stored;
  if (record === null || relation === undefined) return name;
  const type = typeNamed(model, relation.type);
  const values = [...type.fields, ...type.relations].flatMap((member) => {
    const value = record[keyOf(member.name)];
    const text = shown(say, value, model, 'kind' in member ? { relation: member } : { field: member });
    return value === undefined || value === null || text === name ? [] : [`${member.title}: ${text}`];
  });
  return [name, ...values].filter(Boolean).join(', ');
}
