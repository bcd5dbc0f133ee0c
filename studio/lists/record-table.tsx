/** The records of a page of a list. */
import { Checkbox, Link, TableCell, TableRow } from '@mui/material';
import { useListContext, useStore } from 'ra-core';
import { memo, type ReactNode, useEffect, useRef, useState } from 'react';
import { type NavigateFunction, useNavigate } from 'react-router-dom';
import { dialog } from '../app/boundary.tsx';
import { Grid } from '../app/grid.tsx';
import { useKeys } from '../app/keys.ts';
import { Actions } from '../app/menu.tsx';
import { hrefOf } from '../app/router.ts';
import { giveKeys } from '../app/typed-ahead.ts';
import { useVariant } from '../app/variant-choice.tsx';
import { Waiting } from '../app/waiting.tsx';
import { toggled } from '../charts/figures.ts';
import type { FilterNode } from '../data/filter-tree.ts';
import { isValueObject, textOf, type Value, type ValueObject } from '../data/json.ts';
import {
  can,
  identifierOf,
  nameOf,
  recordPath,
  type StudioModel,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { sortedBy, sortKeys, sortOf } from '../data/sort.ts';
import { Related } from '../fields/related.tsx';
import { type AllFound, isSelectable } from '../many/selected-bar.tsx';
import { filterNodes } from '../presentations/filter.ts';
import { Shown } from '../presentations/shown.tsx';
import { localInput } from '../presentations/times.ts';
import { useText } from '../texts/texts.ts';
import { type Step, targetOf } from './cell-target.ts';
import { ColumnHead } from './column-head.tsx';
import { type ChosenColumns, type ColumnInfo, isRight, isSortable } from './columns.ts';
import { EmptyList } from './empty-list.tsx';
import { useNodes } from './use-nodes.ts';

const CellEditor = dialog(() => import('./cell-editor.tsx'));

interface RecordTableProps {
  readonly type: TypeInfo;
  readonly columns: ChosenColumns;
  readonly all: AllFound;
}

/** A cell: the record, and the name of its column. */
interface Place {
  readonly id: string;
  readonly name: string;
}

interface CellMenuAt extends Place {
  readonly anchor: HTMLElement;
}

export function RecordTable({ type, columns, all }: RecordTableProps) {
  const say = useText();
  const { data, sort, setSort, ...selection } = useListContext<StudioRecord>();
  const { selectedIds, onToggleItem, onSelect } = selection;
  const [density] = useStore<Density>('density', 'dense');
  const [edited, setEdited] = useState<Place>();
  const [menu, setMenu] = useState<CellMenuAt>();
  const table = useRef<HTMLTableElement>(null);
  /** The record whose cell was edited last. */
  const left = useRef<string>(undefined);
  const { shown } = columns;
  const ids = data?.map(({ id }) => id) ?? [];
  const here = ids.filter((id) => selectedIds.includes(id));
  const isPageSelected = ids.length > 0 && here.length === ids.length;
  const togglePage = (): void => {
    const others = selectedIds.filter((id) => !ids.includes(String(id)));
    onSelect(isPageSelected ? others : [...others, ...ids]);
  };
  const navigate = useNavigate();
  const variant = useVariant();

  const links = (): readonly HTMLElement[] => [...(table.current?.querySelectorAll<HTMLElement>('a.record') ?? [])];
  const focused = (): number => links().indexOf(document.activeElement as HTMLElement);
  const walk = (by: 1 | -1): void => (links()[focused() === -1 ? 0 : focused() + by] ?? null)?.focus();
  const editable = shown.filter((column) => targetOf(type, column) !== undefined);
  const editAt = (id: string | undefined, name: string | undefined): void =>
    setEdited(id === undefined || name === undefined ? undefined : { id, name });
  useKeys({
    j: () => walk(1),
    k: () => walk(-1),
    x: () => {
      const id = ids[focused()];
      if (id !== undefined && isSelectable(type) && !all.isSelected) onToggleItem(id);
    },
    e: () => editAt(ids[focused()], editable[0]?.name),
  });
  const goOn = (step: Step | undefined): void => {
    if (edited === undefined) return;
    const row = ids.indexOf(edited.id) + (step?.[0] ?? 0);
    const column = editable.findIndex(({ name }) => name === edited.name) + (step?.[1] ?? 0);
    left.current = edited.id;
    editAt(step && ids[row], editable[column]?.name);
  };
  useEffect(() => {
    if (edited !== undefined || left.current === undefined) return;
    // Whoever has clicked elsewhere stays there.
    if (document.activeElement === document.body) links()[ids.indexOf(left.current)]?.focus();
    left.current = undefined;
    void giveKeys();
  });
  if (data === undefined) return <Waiting />;
  if (data.length === 0) return <EmptyList type={type} />;
  const amount = shown.findLast(isRight)?.name;
  const target = edited && shown.find(({ name }) => name === edited.name);
  const editedTarget = target && targetOf(type, target);
  const keys = sortKeys(sort);
  return (
    <>
      <Grid
        label={type.title.many}
        tableRef={table}
        maxHeight="max(20rem, calc(100vh - 10rem))"
        isScrolledByKeys={!can(type, 'get')}
        sx={[ROWS, HEIGHTS[density], ...(can(type, 'get') ? [OPENED] : [])]}
        heads={shown.map((column, index) => ({
          key: column.name,
          title: column.title,
          isRight: isRight(column),
          cell: (
            <ColumnHead
              key={column.name}
              column={column}
              index={index}
              columns={columns}
              keys={keys}
              isAmount={column.name === amount}
              onSort={(name, isAdded) => setSort(sortOf(sortedBy(keys, name, isAdded)))}
            >
              {index === 0 && isSelectable(type) && (
                <Checkbox
                  size="small"
                  checked={all.isSelected || isPageSelected}
                  indeterminate={!all.isSelected && here.length > 0 && !isPageSelected}
                  disabled={all.isSelected || ids.length === 0}
                  onChange={togglePage}
                  slotProps={{ input: { 'aria-label': say('many.select_page') } }}
                  sx={BOX}
                />
              )}
            </ColumnHead>
          ),
        }))}
      >
        {data.map(({ id, values }) => (
          <RecordRow
            key={id}
            type={type}
            columns={shown}
            amount={amount}
            id={id}
            values={values}
            isSelected={all.isSelected || selectedIds.includes(id)}
            isFixed={all.isSelected}
            onToggle={onToggleItem}
            onMenu={setMenu}
            navigate={navigate}
            variant={variant}
            editor={
              edited?.id === id && editedTarget !== undefined ? (
                <CellEditor
                  key={`${id} ${edited.name}`}
                  type={type}
                  id={id}
                  target={editedTarget}
                  value={values[edited.name]}
                  onDone={goOn}
                />
              ) : undefined
            }
            editedName={edited?.id === id ? edited.name : undefined}
          />
        ))}
      </Grid>
      {menu !== undefined && (
        <CellMenu
          type={type}
          column={shown.find(({ name }) => name === menu.name)}
          values={data.find(({ id }) => id === menu.id)?.values ?? {}}
          anchor={menu.anchor}
          onClose={() => setMenu(undefined)}
          onEdit={() => editAt(menu.id, menu.name)}
        />
      )}
    </>
  );
}

interface CellMenuProps {
  readonly type: TypeInfo;
  readonly column: ColumnInfo | undefined;
  readonly values: ValueObject;
  readonly anchor: HTMLElement;
  readonly onClose: () => void;
  readonly onEdit: () => void;
}

function CellMenu({ type, column, values, anchor, onClose, onEdit }: CellMenuProps) {
  const say = useText();
  const model = useModel();
  const { nodes, set } = useNodes();
  const only = column && onlyThese(model, column, values[column.name]);
  const isEditable = column !== undefined && targetOf(type, column) !== undefined;
  const items = [
    { text: say('cell.only'), isOff: only === undefined, to: () => set(toggled(nodes, only ?? [])) },
    { text: say('cell.edit'), isOff: !isEditable, to: onEdit },
  ];
  return <Actions anchor={anchor} groups={[{ items }]} onClose={onClose} />;
}

/** The filter that finds the records with this value; of a point in time, all of its day. */
function onlyThese(
  model: StudioModel,
  column: ColumnInfo,
  value: Value | undefined,
): readonly FilterNode[] | undefined {
  if (!isSortable(column) || value === undefined) return undefined;
  const { name } = column;
  if (value === null) return [{ kind: 'condition', path: name, operator: 'null', values: ['true'] }];
  if (column.kind === 'relation') {
    const id = isValueObject(value) ? identifierOf(typeNamed(model, column.relation.type), value) : '';
    return [{ kind: 'condition', path: name, operator: 'eq', values: [id] }];
  }
  const field = column.kind === 'field' ? column.field : undefined;
  const text = textOf(value);
  return filterNodes(field, name, 'eq', [field?.type === 'timestamp' ? (localInput(text) ?? text).slice(0, 10) : text]);
}

interface RecordRowProps {
  readonly type: TypeInfo;
  readonly columns: readonly ColumnInfo[];
  /** The last column of amounts, which stays whole. */
  readonly amount: string | undefined;
  readonly id: string;
  readonly values: ValueObject;
  readonly isSelected: boolean;
  /** Whether it is selected with all others, and cannot be left out. */
  readonly isFixed: boolean;
  readonly onToggle: (id: string) => void;
  readonly onMenu: (at: CellMenuAt) => void;
  readonly navigate: NavigateFunction;
  readonly variant: string | undefined;
  /** What stands in the cell with this name while it is edited. */
  readonly editor: ReactNode;
  readonly editedName: string | undefined;
}

/** Lists are rendered often while they are read; their rows only if something of them has changed. */
const RecordRow = memo(function RecordRow(props: RecordRowProps) {
  const { type, columns, amount, id, values, isSelected, isFixed, onToggle, onMenu, navigate, variant } = props;
  const { editor, editedName } = props;
  const say = useText();
  const isOpened = can(type, 'get');
  return (
    <TableRow
      hover
      onClick={(event) => {
        if (isOpened && !isOfLink(event.target)) void navigate(recordPath(type, id, variant));
      }}
    >
      {columns.map((column, index) => (
        <TableCell
          key={column.name}
          align={isRight(column) ? 'right' : 'left'}
          className={column.name === amount ? 'amount' : undefined}
          onContextMenu={(event) => {
            if (isOfInput(event.target)) return;
            event.preventDefault();
            onMenu({ id, name: column.name, anchor: event.currentTarget });
          }}
        >
          {index === 0 && isSelectable(type) && (
            <Checkbox
              size="small"
              checked={isSelected}
              disabled={isFixed}
              onChange={() => onToggle(id)}
              // The key x selects; Tab goes from record to record.
              tabIndex={-1}
              slotProps={{ input: { tabIndex: -1, 'aria-label': say('many.select', { name: nameOf(type, values) }) } }}
              sx={BOX}
            />
          )}
          {column.name === editedName ? (
            editor
          ) : index === 0 && isOpened ? (
            <OpenLink navigate={navigate} address={recordPath(type, id, variant)}>
              {column.kind === 'identifier' ? textOf(values[column.name]) : nameIn(type, column, values)}
            </OpenLink>
          ) : (
            cell(column, values)
          )}
          {index === 0 && column.name === type.label && !isLong(type) && <small style={QUIET}>{id}</small>}
        </TableCell>
      ))}
    </TableRow>
  );
});

// Once for all cells: styles of each of them take longer than the rest of a list.
const ROWS = {
  '& td': { maxWidth: 320, overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' },
  '& td:has(.cell)': { overflow: 'visible', minWidth: 170, px: 0.5 },
  '& td:has(.cell) > :not(.cell)': { display: 'none' },
  '& .cell .MuiInputBase-root': { height: 30, backgroundColor: 'background.paper' },
  '& td a': { textDecoration: 'none' },
  '& td a.record': {
    display: 'inline-block',
    // Beside the box that selects: what does not fit as a whole would be left out.
    maxWidth: 'min(250px, 100% - 2.25rem)',
    overflow: 'hidden',
    textOverflow: 'ellipsis',
    verticalAlign: 'middle',
  },
  '& td a:hover, & td a:focus-visible': { textDecoration: 'underline' },
} as const;

const heightOf = (height: number) => ({ '& td': { height, py: 0 }, '& th': { py: 0.5 } });
export type Density = 'dense' | 'comfortable';
const HEIGHTS: Readonly<Record<Density, object>> = { dense: heightOf(34), comfortable: heightOf(46) };
const OPENED = { '& tbody tr': { cursor: 'pointer' } } as const;
const BOX = { p: 0.25, marginInlineEnd: 0.5 } as const;

/** Whether identifiers say nothing to people, and leave no room for what does. */
const isLong = ({ identifier }: TypeInfo): boolean => identifier.type === 'uuid';

const isOfInput = (target: EventTarget): boolean => target instanceof Element && target.closest('.cell') !== null;

const isOfLink = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('a, button, input, .cell') !== null;

/** Small and grey, and written as cheaply as it can be: lists have many cells. */
const QUIET = { marginInlineStart: '0.5em', fontSize: '0.75rem', opacity: 0.75 } as const;

/** A record whose label is empty is called by its type and identifier. */
const nameIn = (type: TypeInfo, column: ColumnInfo, values: ValueObject): ReactNode =>
  column.name === type.label && textOf(values[column.name]) === '' ? nameOf(type, values) : cell(column, values);

export function cell(column: ColumnInfo, values: ValueObject): ReactNode {
  if (column.kind === 'relation') return <Related relation={column.relation} value={values[column.name]} />;
  if (column.kind === 'field')
    return <Shown field={column.field} value={values[column.name]} record={values} isShort />;
  return <bdi>{textOf(values[column.name])}</bdi>;
}

interface OpenLinkProps {
  readonly navigate: NavigateFunction;
  readonly address: string;
  readonly children: ReactNode;
}

function OpenLink({ navigate, address, children }: OpenLinkProps) {
  return (
    <Link
      className="record"
      // The router's own links are rendered again at each page.
      href={hrefOf(address)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        void navigate(address);
      }}
    >
      {children}
    </Link>
  );
}
