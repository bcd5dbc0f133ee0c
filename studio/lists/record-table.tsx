/** The records of a page of a list. */
import {
  Checkbox,
  Link,
  Paper,
  Skeleton,
  Table,
  TableBody,
  TableCell,
  TableContainer,
  TableHead,
  TableRow,
  TableSortLabel,
} from '@mui/material';
import { useListContext } from 'ra-core';
import { memo, type ReactNode } from 'react';
import { type NavigateFunction, useNavigate } from 'react-router-dom';
import { hrefOf } from '../app/router.ts';
import { Late } from '../app/waiting.tsx';
import { textOf, type ValueObject } from '../data/json.ts';
import { can, nameOf, recordPath, type TypeInfo } from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { Related } from '../fields/related.tsx';
import { Shown } from '../presentations/shown.tsx';
import { useVariant } from '../app/variant-choice.tsx';
import { type AllFound, isSelectable } from '../many/selected-bar.tsx';
import { useText } from '../texts/texts.ts';
import { type ColumnInfo, isRight, isSortable } from './columns.ts';
import { EmptyList } from './empty-list.tsx';

interface RecordTableProps {
  readonly type: TypeInfo;
  readonly columns: readonly ColumnInfo[];
  readonly all: AllFound;
}

const EXPECTED_ROWS = 8;

export function RecordTable({ type, columns, all }: RecordTableProps) {
  const say = useText();
  const { data, isPending, sort, setSort, ...selection } = useListContext<StudioRecord>();
  const { selectedIds, onToggleItem, onSelect } = selection;
  const ids = data?.map(({ id }) => id) ?? [];
  const here = ids.filter((id) => selectedIds.includes(id));
  const isPageSelected = ids.length > 0 && here.length === ids.length;
  const togglePage = (): void => {
    const others = selectedIds.filter((id) => !ids.includes(String(id)));
    onSelect(isPageSelected ? others : [...others, ...ids]);
  };
  const navigate = useNavigate();
  const variant = useVariant();
  if (data?.length === 0) return <EmptyList type={type} />;
  return (
    <TableContainer
      component={Paper}
      variant="outlined"
      tabIndex={0}
      role="region"
      aria-label={type.title.many}
      sx={TALL}
    >
      <Table stickyHeader size="small" sx={can(type, 'get') ? [ROWS, OPENED] : ROWS}>
        <TableHead>
          <TableRow>
            {columns.map((column, index) => {
              const isHere = column.name === sort.field;
              const direction = sort.order === 'DESC' ? 'desc' : 'asc';
              return (
                <TableCell
                  key={column.name}
                  align={isRight(column) ? 'right' : 'left'}
                  sortDirection={isHere ? direction : false}
                  title={column.description}
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
                  {isSortable(column) ? (
                    <TableSortLabel
                      active={isHere}
                      direction={isHere ? direction : 'asc'}
                      onClick={() =>
                        setSort({ field: column.name, order: isHere && sort.order === 'ASC' ? 'DESC' : 'ASC' })
                      }
                    >
                      {column.title}
                    </TableSortLabel>
                  ) : (
                    column.title
                  )}
                </TableCell>
              );
            })}
          </TableRow>
        </TableHead>
        <TableBody>
          {isPending ? (
            <Late>
              {Array.from({ length: EXPECTED_ROWS }, (_, row) => (
                <TableRow key={row}>
                  {columns.map(({ name }) => (
                    <TableCell key={name}>
                      <Skeleton />
                    </TableCell>
                  ))}
                </TableRow>
              ))}
            </Late>
          ) : (
            data?.map(({ id, values }) => (
              <RecordRow
                key={id}
                type={type}
                columns={columns}
                id={id}
                values={values}
                isSelected={all.isSelected || selectedIds.includes(id)}
                isFixed={all.isSelected}
                onToggle={onToggleItem}
                navigate={navigate}
                variant={variant}
              />
            ))
          )}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

interface RecordRowProps {
  readonly type: TypeInfo;
  readonly columns: readonly ColumnInfo[];
  readonly id: string;
  readonly values: ValueObject;
  readonly isSelected: boolean;
  /** Whether it is selected with all others, and cannot be left out. */
  readonly isFixed: boolean;
  readonly onToggle: (id: string) => void;
  readonly navigate: NavigateFunction;
  readonly variant: string | undefined;
}

/** Lists are rendered often while they are read; their rows only if something of them has changed. */
const RecordRow = memo(function RecordRow(props: RecordRowProps) {
  const { type, columns, id, values, isSelected, isFixed, onToggle, navigate, variant } = props;
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
        <TableCell key={column.name} align={isRight(column) ? 'right' : 'left'}>
          {index === 0 && isSelectable(type) && (
            <Checkbox
              size="small"
              checked={isSelected}
              disabled={isFixed}
              onChange={() => onToggle(id)}
              slotProps={{ input: { 'aria-label': say('many.select', { name: nameOf(type, values) }) } }}
              sx={BOX}
            />
          )}
          {index === 0 && isOpened ? (
            <OpenLink type={type} navigate={navigate} address={recordPath(type, id, variant)} id={id} values={values}>
              {column.kind === 'identifier' ? textOf(values[column.name]) : nameIn(type, column, values)}
            </OpenLink>
          ) : (
            cell(column, values)
          )}
          {index === 0 && column.name === type.label && <small style={QUIET}>{id}</small>}
        </TableCell>
      ))}
    </TableRow>
  );
});

/** The heads of its columns stay in sight. */
const TALL = {
  maxHeight: 'max(20rem, calc(100vh - 12rem))',
  '& th': { bgcolor: 'background.paper' },
  '@media print': { maxHeight: 'none' },
} as const;

// Once for all cells: styles of each of them take longer than the rest of a list.
const ROWS = { '& td': { maxWidth: 320, overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' } } as const;
const OPENED = { '& tbody tr': { cursor: 'pointer' } } as const;
const BOX = { p: 0.5, marginInlineEnd: 0.5 } as const;

const isOfLink = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('a, button, input') !== null;

/** Small and grey, and written as cheaply as it can be: lists have many cells. */
const QUIET = { marginInlineStart: '0.5em', fontSize: '0.75rem', opacity: 0.75 } as const;

/** A record whose label is empty is called by its type and identifier. */
const nameIn = (type: TypeInfo, column: ColumnInfo, values: ValueObject): ReactNode =>
  column.name === type.label && textOf(values[column.name]) === '' ? nameOf(type, values) : cell(column, values);

/** `isLinked`: whether related records are links; not within another link. */
export function cell(column: ColumnInfo, values: ValueObject, isLinked = true): ReactNode {
  if (column.kind === 'relation')
    return <Related relation={column.relation} value={values[column.name]} isLinked={isLinked} />;
  if (column.kind === 'field') return <Shown field={column.field} value={values[column.name]} isShort />;
  return <bdi>{textOf(values[column.name])}</bdi>;
}

interface OpenLinkProps {
  readonly type: TypeInfo;
  readonly navigate: NavigateFunction;
  readonly address: string;
  readonly id: string;
  readonly values: ValueObject;
  readonly children: ReactNode;
}

function OpenLink({ type, navigate, address, id, values, children }: OpenLinkProps) {
  const say = useText();
  return (
    <Link
      // The router's own links are rendered again at each page.
      href={hrefOf(address)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        void navigate(address);
      }}
      aria-label={say('list.open', {
        name: nameOf(type, values).includes(id) ? nameOf(type, values) : `${id} ${nameOf(type, values)}`,
      })}
    >
      {children}
    </Link>
  );
}
