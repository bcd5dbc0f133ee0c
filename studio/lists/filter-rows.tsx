/** The rows of the editor of filters. */
import { Autocomplete, Box, Chip, Paper, TextField, createFilterOptions } from '@mui/material';
import { type ReactNode, useState } from 'react';
import { CloseIcon } from '../app/icons.tsx';
import { Select } from '../app/select.tsx';
import { SmallButton } from '../app/small-button.tsx';
import { type RelationInfo, type TypeInfo, typeNamed, useModel } from '../data/model.ts';
import { useNames } from '../fields/names.ts';
import { Picker } from '../fields/picker.tsx';
import { isNumber } from '../presentations/field-draft.ts';
import { CONTAINS, filterText, periodOf } from '../presentations/filter.ts';
import { NumberFilter } from '../presentations/number.tsx';
import { presentationOf } from '../presentations/registry.ts';
import { inSentence, type Say, useText } from '../texts/texts.ts';
import {
  countOperator,
  type FilterDraft,
  isCount,
  newRow,
  operatorOf,
  operatorsOf,
  quantifierOf,
  valueOfRow,
} from './filter-draft.ts';
import { choicesOf, chosenFrom, type FilterSubject, operatorText } from './filter-terms.ts';
import type { FilterNode, GroupMode } from '../data/filter-tree.ts';

function RemoveButton({ onClick }: { readonly onClick: () => void }) {
  const say = useText();
  return <SmallButton text={say('filter.remove_this')} Icon={CloseIcon} onClick={onClick} />;
}

/** Never wider than what it is in. */
const NARROW = 'minmax(0, 1fr)';
export const STACK = { display: 'grid', gap: 1.5, gridTemplateColumns: NARROW } as const;
const LINE = { display: 'flex', alignItems: 'center', gap: 1 } as const;

export function KeptRow({ node, onRemove }: { readonly node: FilterNode; readonly onRemove: () => void }) {
  return (
    <Box sx={LINE}>
      <Box component="code" sx={{ flexGrow: 1, overflowWrap: 'anywhere' }}>
        {node.kind === 'other' && node.parameters.map((pair) => pair.join('=')).join(', ')}
      </Box>
      <RemoveButton onClick={onRemove} />
    </Box>
  );
}

const MODES = ['any', 'all', 'none'] as const satisfies readonly GroupMode[];

interface FilterGroupProps {
  readonly mode: GroupMode;
  readonly onMode: (mode: GroupMode) => void;
  readonly onRemove: () => void;
  readonly children: ReactNode;
}

export function FilterGroup({ mode, onMode, onRemove, children }: FilterGroupProps) {
  const say = useText();
  return (
    <Paper variant="outlined" role="group" aria-label={say(`group.${mode}`)} sx={{ ...STACK, p: 1.5 }}>
      <Box sx={LINE}>
        <Select
          label={say('filter.group')}
          value={mode}
          onChoose={(next) => onMode(MODES.find((one) => one === next) ?? mode)}
          options={MODES.map((one) => [one, say(`group.${one}`)])}
        />
        <RemoveButton onClick={onRemove} />
      </Box>
      {children}
    </Paper>
  );
}

const search = createFilterOptions<FilterSubject>({ limit: 50 });
/** What is about related records is behind this one, or found by typing. */
const MORE: FilterSubject = { path: '', title: '', operators: [], field: undefined };

interface FilterRowProps {
  readonly subjects: readonly FilterSubject[];
  readonly draft: Extract<FilterDraft, { readonly kind: 'row' }>;
  readonly isFocused: boolean;
  readonly onDraft: (draft: FilterDraft) => void;
  readonly onRemove: () => void;
  /** The conditions on the records of a set. */
  readonly inside: (set: TypeInfo) => ReactNode;
}

export function FilterRow({ subjects, draft, isFocused, onDraft, onRemove, inside }: FilterRowProps) {
  const say = useText();
  const subject = subjects.find(({ path }) => path === draft.path) ?? null;
  const operator = subject === null ? undefined : operatorOf(subject, draft.operator);
  const isNested = subject?.set !== undefined && operator !== undefined && !isCount(operator);
  const [hasMore, setMore] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const own = subjects.filter(({ path }) => !path.includes('.'));
  const line = (
    <Box sx={{ ...LINE, alignItems: 'flex-start' }}>
      <Box
        sx={{
          flexGrow: 1,
          minWidth: 0,
          display: 'grid',
          gap: 1.5,
          gridTemplateColumns: { xs: NARROW, sm: '2fr 1.3fr 1.7fr' },
        }}
      >
        <Autocomplete
          options={subjects}
          value={subject}
          filterOptions={(all, state) => {
            const isTyped = state.inputValue !== '' && state.inputValue !== subject?.title;
            if (isTyped) return search([...all], state);
            return hasMore || own.length === all.length ? [...all] : [...own, MORE];
          }}
          getOptionKey={({ path }) => path}
          getOptionLabel={({ title }) => title}
          renderOption={({ key: _key, ...props }, { path, title }) => (
            <li key={path} {...props}>
              {path === MORE.path ? say('filter.more') : title}
            </li>
          )}
          open={isOpen}
          onOpen={() => setOpen(true)}
          onClose={() => setOpen(false)}
          onChange={(_event, next) => {
            if (next?.path !== MORE.path)
              return onDraft({ ...draft, path: next?.path, items: next?.set === undefined ? [] : [newRow()] });
            setMore(true);
            // After the list of what was chosen from has closed.
            setTimeout(() => setOpen(true));
          }}
          renderInput={(props) => <TextField {...props} label={say('filter.field')} autoFocus={isFocused} />}
        />
        <Select
          label={say('filter.operator')}
          value={operator ?? ''}
          disabled={subject === null}
          onChoose={(next) => onDraft({ ...draft, operator: next })}
          options={(subject === null ? [] : operatorsOf(subject)).map((one) => [one, wordsOf(say, one)])}
        />
        {!isNested && (
          <ValueInput
            subject={subject}
            operator={operator ?? 'eq'}
            text={draft.text}
            onText={(text) => onDraft({ ...draft, text })}
          />
        )}
      </Box>
      <RemoveButton onClick={onRemove} />
    </Box>
  );
  if (!isNested) return line;
  return (
    <Paper variant="outlined" role="group" aria-label={subject.title} sx={{ ...STACK, p: 1.5 }}>
      {line}
      <Box sx={{ paddingInlineStart: { sm: 3 } }}>{inside(subject.set)}</Box>
    </Paper>
  );
}

function wordsOf(say: Say, operator: string): string {
  if (isCount(operator)) return `${say('set.count')} ${operatorText(say, countOperator(operator))}`;
  const period = periodOf(operator);
  if (period !== undefined) return say(`period.${period}`);
  return operator.startsWith('$') ? say(`set.${quantifierOf(operator)}`) : operatorText(say, operator);
}

interface ValueInputProps {
  readonly subject: FilterSubject | null;
  readonly operator: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function ValueInput({ subject, operator, text, onText }: ValueInputProps) {
  const say = useText();
  const choices = subject === null ? undefined : choicesOf(subject, operator);
  if (subject !== null && choices !== undefined)
    return (
      <Select
        label={say('filter.value')}
        value={valueOfRow(subject, operator, text)}
        onChoose={onText}
        options={choices.map((choice) => [choice, filterText(say, subject.field, operator, choice)])}
      />
    );
  const values = operator === 'in' ? subject?.field?.enum : undefined;
  if (values !== undefined)
    return (
      <Select
        label={say('filter.value')}
        value={text.split('\n').filter(Boolean)}
        onChoose={(next) => onText([next].flat().join('\n'))}
        slotProps={{ select: { multiple: true } }}
        options={values.map((value) => [value, filterText(say, subject?.field, 'eq', value)])}
      />
    );
  const relation = subject === null ? undefined : chosenFrom(subject, operator);
  if (relation !== undefined)
    return <RecordValue relation={relation} text={text} isSeveral={operator === 'in'} onText={onText} />;
  if (periodOf(operator) !== undefined) return undefined;
  const Filter = subject?.field === undefined ? undefined : presentationOf(subject.field).Filter;
  const label = say(operator === 'in' ? 'filter.values' : 'filter.value');
  const isPattern = operator === 'like' || operator === CONTAINS;
  const { field } = subject ?? {};
  // Without a field, it is about identifiers or about how many records there are.
  if (subject !== null && !isPattern && (field === undefined || isNumber(field)))
    return <NumberFilter {...{ field, label, text, onText, say }} isSeveral={operator === 'in'} />;
  if (Filter !== undefined && field !== undefined && operator !== 'in')
    return <Filter {...{ field, label, text, onText, say }} />;
  return (
    <TextField
      label={label}
      value={text}
      disabled={subject === null}
      multiline={operator === 'in'}
      minRows={operator === 'in' ? 3 : 1}
      helperText={operator === 'like' ? say('operator.like_help') : undefined}
      onChange={({ target }) => onText(target.value)}
    />
  );
}

interface RecordValueProps {
  readonly relation: RelationInfo;
  /** Identifiers, one on each line. */
  readonly text: string;
  readonly isSeveral: boolean;
  readonly onText: (text: string) => void;
}

/** Records are found by their names, and kept by their identifiers. */
function RecordValue({ relation, text, isSeveral, onText }: RecordValueProps) {
  const say = useText();
  const type = typeNamed(useModel(), relation.type);
  const lines = text.split('\n').filter((line) => line !== '');
  const ids = isSeveral ? lines : lines.slice(0, 1);
  const nameOf = useNames(ids.map((id) => ({ relation, id })));
  const choices = ids.map((id) => ({ id, name: nameOf(relation.type, id) ?? `${type.title.one} ${id}` }));
  if (!isSeveral)
    return (
      <Picker
        relation={relation}
        label={say('filter.value')}
        value={choices[0] ?? null}
        onChange={(choice) => onText(choice?.id ?? '')}
      />
    );
  return (
    <Box sx={STACK}>
      <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 1 }}>
        {choices.map(({ id, name }) => (
          <Chip
            key={id}
            label={<bdi>{name}</bdi>}
            onDelete={() => onText(ids.filter((one) => one !== id).join('\n'))}
          />
        ))}
      </Box>
      <Picker
        key={ids.length}
        relation={relation}
        label={say('form.add', { type: inSentence(type.title.one) })}
        value={null}
        without={ids}
        onChange={(choice) => choice !== null && onText([...ids, choice.id].join('\n'))}
      />
    </Box>
  );
}
