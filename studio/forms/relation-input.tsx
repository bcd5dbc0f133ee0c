/** The input of a relation: a record is chosen or made in place; records that belong to this one are edited within it. */
import { Box, Button, Chip, FormHelperText, Paper, Typography, useMediaQuery } from '@mui/material';
import type { Theme } from '@mui/material/styles';
import { useNotify } from 'ra-core';
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { get, useFieldArray, useFormContext, useFormState, useWatch } from 'react-hook-form';
import { dialog } from '../app/boundary.tsx';
import { AddIcon, CloseIcon, DownIcon, EditIcon, UpIcon } from '../app/icons.tsx';
import { SmallButton } from '../app/small-button.tsx';
import { goTo } from '../app/typed-ahead.ts';
import { isValueObject } from '../data/json.ts';
import {
  can,
  isToMany,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import { recordQuery } from '../data/provider.ts';
import { send } from '../data/request.ts';
import { problemText } from '../app/problem-alert.tsx';
import { Picker } from '../fields/picker.tsx';
import { type Choice, findRecords } from '../fields/search.ts';
import { titleOf } from '../presentations/presentation.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { isChangeable, isInline, type Item, keyOf, newItem, storedDraft } from './draft.ts';
import { atEnd, positionField, positionsOf } from './positions.ts';
import { linkTo } from './prefilled.ts';
import { RecordInputs, type RelationInputs, WIDE } from './record-inputs.tsx';
import { INPUT, setColumns, SetTable } from './set-table.tsx';

const NewRecordDialog = dialog(() => import('./new-record-dialog.tsx'));

interface RelationInputProps {
  readonly relation: RelationInfo;
  readonly path: string;
  /** In a row of a table: a record is chosen, and nothing else. */
  readonly isPlain?: boolean;
}

const plainInputFor: RelationInputs = (relation, path) => (
  <OneInput key={path} relation={relation} path={path} isPlain />
);

export const inputFor: RelationInputs = (relation, path) =>
  isToMany(relation) ? (
    <SetInput key={path} relation={relation} path={path} />
  ) : (
    <OneInput key={path} relation={relation} path={path} />
  );

function useFault(path: string): string | undefined {
  const { errors } = useFormState({ name: path });
  const fault = get(errors, path) as { readonly message?: unknown } | undefined;
  const message = fault?.message;
  return typeof message === 'string' ? message : undefined;
}

const linked = ({ id, name }: Choice): Item => linkTo(id, name);
/** The item as it was before its inputs were opened. */
const closed = (item: Item): Item => ({ ...item, record: null });
const opened = (item: Item): Item => ({ ...item, record: item.stored });

/** Opens the inputs of a linked record; one that was only just chosen is read first. */
function useOpened(relation: RelationInfo): (item: Item) => Promise<Item | undefined> {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  return async (item) => {
    if (item.stored !== null || item.id === null) return opened(item);
    const type = typeNamed(model, relation.type);
    try {
      const values = await readRecord(model, type, relation, item.id);
      if (values === undefined) throw new Error(say('picker.none'));
      return opened({ ...item, stored: storedDraft(model, relation, values) });
    } catch (problem) {
      notify(problemText(say, problem), { type: 'error' });
      return undefined;
    }
  };
}

/** With its own relations, where it can be read by itself. */
async function readRecord(model: StudioModel, type: TypeInfo, { label }: RelationInfo, id: string) {
  if (!can(type, 'get')) return (await findRecords(model, type, label, { id }))[0];
  const target = `${type.path}/${encodeURIComponent(id)}?${recordQuery(model, type)}`;
  const { body } = await send({ method: 'GET', target });
  return isValueObject(body) ? body : undefined;
}

function OneInput({ relation, path, isPlain = false }: RelationInputProps) {
  const say = useText();
  const model = useModel();
  const type = typeNamed(model, relation.type);
  const fault = useFault(path);
  const { setValue, clearErrors } = useFormContext();
  const open = useOpened(relation);
  const [making, setMaking] = useState<string>();
  const adding = useRef(false);
  const item = (useWatch({ name: path }) ?? null) as Item | null;
  const set = (next: Item | null): void => {
    clearErrors(path);
    setValue(path, next, { shouldDirty: true });
  };
  const change = async (chosen: Item): Promise<void> => {
    const next = await open(chosen);
    if (next !== undefined) set(next);
  };
  const create = relation.canCreate && (
    <Button
      size="small"
      startIcon={<AddIcon />}
      onClick={() => {
        adding.current = true;
        set(newItem(model, relation));
      }}
    >
      {say('list.create', { type: inSentence(type.title.one) })}
    </Button>
  );
  if (item !== null && item.record !== null) {
    const isShared = item.id !== null && !isInline(relation);
    return (
      <Nested
        relation={relation}
        path={path}
        item={item}
        title={isShared ? `${relation.title}: ${item.name}` : titleOf(relation)}
        adding={adding}
      >
        {isShared ? (
          <UndoButton item={item} onClick={() => set(closed(item))} />
        ) : (
          <SmallButton text={say('form.remove', { name: relation.title })} Icon={CloseIcon} onClick={() => set(null)} />
        )}
      </Nested>
    );
  }
  if (isInline(relation))
    return (
      <Box sx={WIDE}>
        <Typography variant="h2">{titleOf(relation)}</Typography>
        {create}
        <Help fault={fault} text={relation.description} />
      </Box>
    );
  return (
    <Box>
      <Picker
        relation={relation}
        label={titleOf(relation)}
        value={item === null || item.id === null ? null : { id: item.id, name: item.name }}
        onChange={(choice) => set(choice === null ? null : linked(choice))}
        help={relation.description}
        fault={fault}
        onMake={can(type, 'create') && type.identifier.inRecord && !relation.canCreate ? setMaking : undefined}
      />
      {making !== undefined && (
        <NewRecordDialog
          type={type}
          typed={making}
          onClose={() => setMaking(undefined)}
          onMade={(choice) => {
            setMaking(undefined);
            set(linked(choice));
          }}
        />
      )}
      {!isPlain && item !== null && isChangeable(model, relation, item) && (
        <Button size="small" startIcon={<EditIcon />} onClick={() => void change(item)}>
          {say('form.change', { name: item.name })}
        </Button>
      )}
      {!isPlain && create}
    </Box>
  );
}

const Help = ({ fault, text }: { readonly fault: string | undefined; readonly text: string | undefined }) =>
  fault === undefined && text === undefined ? undefined : (
    <FormHelperText error={fault !== undefined}>{fault ?? text}</FormHelperText>
  );

/** Closes the inputs of a record that is linked, and forgets what was typed into them. */
function UndoButton({ item, onClick }: { readonly item: Item; readonly onClick: () => void }) {
  const say = useText();
  return (
    <Button size="small" color="inherit" onClick={onClick} aria-label={say('form.undo_of', { name: item.name })}>
      {say('form.undo')}
    </Button>
  );
}

interface NestedProps extends RelationInputProps {
  readonly item: Item;
  readonly title: string;
  /** Whether it was only just added: what is typed next goes into it. */
  readonly adding: RefObject<boolean>;
  readonly children: ReactNode;
}

/** A record within the form. */
function Nested({ relation, path, item, title, adding, children }: NestedProps) {
  const say = useText();
  const model = useModel();
  const fault = useFault(path);
  const type = typeNamed(model, relation.type);
  const place = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    if (adding.current) goTo(place.current?.querySelector<HTMLElement>(INPUT));
    adding.current = false;
  }, [adding]);
  return (
    <Paper
      ref={place}
      component="fieldset"
      aria-label={title}
      variant="outlined"
      sx={{ ...WIDE, m: 0, p: 2, minWidth: 0 }}
    >
      <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, mb: 2 }}>
        <Typography variant="h2" sx={{ flexGrow: 1 }}>
          <bdi>{title}</bdi>
        </Typography>
        {children}
      </Box>
      {item.id !== null && !isInline(relation) && (
        <Typography variant="body2" sx={{ color: 'text.secondary', mb: 2 }}>
          {say('form.shared')}
        </Typography>
      )}
      {fault === undefined ? undefined : <Help fault={fault} text={undefined} />}
      <RecordInputs
        type={type}
        path={`${path}.record.`}
        draft={item.record ?? {}}
        through={relation}
        inputFor={inputFor}
      />
    </Paper>
  );
}

function SetInput({ relation, path }: RelationInputProps) {
  const say = useText();
  const model = useModel();
  const type = typeNamed(model, relation.type);
  const fault = useFault(path);
  const open = useOpened(relation);
  const { clearErrors, getValues, setValue } = useFormContext();
  const { fields, append, remove, move, update } = useFieldArray({ name: path, keyName: '#key' });
  const items = fields as unknown as readonly (Item & { readonly '#key': string })[];
  const ordered = isInline(relation) ? positionField(type) : undefined;
  const now = (): readonly Item[] => (getValues(path) ?? []) as readonly Item[];
  const adding = useRef(false);
  const add = (item: Item): void => {
    adding.current = true;
    clearErrors(path);
    append(ordered === undefined ? item : atEnd(ordered, now(), item), { shouldFocus: false });
  };
  const change = async (item: Item): Promise<void> => {
    const next = await open(item);
    // Meanwhile others may have come or gone.
    const index = now().findIndex(({ id }) => id === item.id);
    if (next !== undefined && index >= 0) update(index, next);
  };
  const shift = (from: number, to: number): void => {
    if (ordered === undefined) return;
    move(from, to);
    for (const [index, position] of positionsOf(ordered, now()).entries())
      setValue(`${path}.${index}.record.${keyOf(ordered.name)}`, position, { shouldDirty: true });
  };
  const titleIn = (item: Item): string =>
    item.id === null ? say('list.create', { type: inSentence(type.title.one) }) : item.name;
  const buttonsAt = (index: number) => {
    const item = items[index];
    return (
      item && (
        <>
          {ordered !== undefined && (
            <>
              <SmallButton
                text={say('form.up')}
                isOff={index === 0}
                onClick={() => shift(index, index - 1)}
                Icon={UpIcon}
              />
              <SmallButton
                text={say('form.down')}
                isOff={index === items.length - 1}
                onClick={() => shift(index, index + 1)}
                Icon={DownIcon}
              />
            </>
          )}
          {item.id !== null && !isInline(relation) && (
            <UndoButton item={item} onClick={() => update(index, closed(withoutKey(item)))} />
          )}
          <SmallButton
            text={say('form.remove', { name: item.name || type.title.one })}
            Icon={CloseIcon}
            onClick={() => remove(index)}
          />
        </>
      )
    );
  };
  // Rows are rendered again only where something of them has changed.
  const latest = useRef(buttonsAt);
  latest.current = buttonsAt;
  const stableButtons = useCallback((index: number) => latest.current(index), []);
  // The faults of a whole row.
  const { errors } = useFormState({ name: path });
  const faultAt = (index: number) => {
    const found = get(errors, `${path}.${index}`) as { readonly message?: unknown } | undefined;
    const message = found?.message;
    return { hasFault: found !== undefined, fault: typeof message === 'string' ? message : undefined };
  };
  const isWide = useMediaQuery((theme: Theme) => theme.breakpoints.up('sm'), { noSsr: true });
  const columns = useMemo(
    () => (isInline(relation) && isWide ? setColumns(relation, type) : undefined),
    [relation, type, isWide],
  );
  return (
    <Box component="section" aria-label={relation.title} sx={{ ...WIDE, display: 'grid', gap: 1.5 }}>
      <Box>
        <Typography variant="h2">{titleOf(relation)}</Typography>
        <Help fault={fault} text={relation.description} />
      </Box>
      {items.some(({ record }) => record === null) && (
        <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 1 }}>
          {items.map((item, index) =>
            item.record === null ? (
              <LinkedChip
                key={item['#key']}
                path={`${path}.${index}`}
                item={item}
                onRemove={() => remove(index)}
                onChange={isChangeable(model, relation, item) ? () => void change(withoutKey(item)) : undefined}
              />
            ) : undefined,
          )}
        </Box>
      )}
      {columns !== undefined && items.length > 0 && (
        <SetTable
          relation={relation}
          path={path}
          columns={columns}
          inputFor={plainInputFor}
          buttonsAt={stableButtons}
          adding={adding}
          onAdd={relation.canCreate ? () => add(newItem(model, relation)) : undefined}
          rows={items.map((item, index) => ({
            key: item['#key'],
            title: titleIn(item),
            isLast: index === items.length - 1,
            ...faultAt(index),
          }))}
        />
      )}
      {columns === undefined &&
        items.map((item, index) =>
          item.record === null ? undefined : (
            <Nested
              key={item['#key']}
              relation={relation}
              path={`${path}.${index}`}
              item={item}
              title={titleIn(item)}
              adding={adding}
            >
              {buttonsAt(index)}
            </Nested>
          ),
        )}
      <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 1, alignItems: 'center' }}>
        {isInline(relation) ? undefined : (
          <Box sx={{ flex: '1 1 16rem', maxWidth: 400 }}>
            <Picker
              key={items.length}
              relation={relation}
              label={say('form.add', { type: inSentence(type.title.one) })}
              value={null}
              without={items.flatMap(({ id }) => id ?? [])}
              onChange={(choice) => choice !== null && add(linked(choice))}
            />
          </Box>
        )}
        {relation.canCreate && (
          <Button size="small" startIcon={<AddIcon />} onClick={() => add(newItem(model, relation))}>
            {say('list.create', { type: inSentence(type.title.one) })}
          </Button>
        )}
      </Box>
    </Box>
  );
}

const withoutKey = ({ id, name, record, stored }: Item): Item => ({ id, name, record, stored });

interface LinkedChipProps {
  readonly path: string;
  readonly item: Item;
  readonly onRemove: () => void;
  /** Undefined: it can only be linked here. */
  readonly onChange: (() => void) | undefined;
}

function LinkedChip({ path, item, onRemove, onChange }: LinkedChipProps) {
  const say = useText();
  const fault = useFault(path);
  return (
    <Box>
      <Chip
        label={<bdi>{item.name}</bdi>}
        color={fault === undefined ? 'default' : 'error'}
        onDelete={onRemove}
        {...(onChange === undefined
          ? {}
          : { onClick: onChange, 'aria-label': say('form.change', { name: item.name }) })}
      />
      {fault === undefined ? undefined : <Help fault={fault} text={undefined} />}
    </Box>
  );
}
