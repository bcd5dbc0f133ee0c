/** The records of a page of a list. */
import Alert from '@mui/material/Alert';
import Box from '@mui/material/Box';
import Checkbox from '@mui/material/Checkbox';
import Link from '@mui/material/Link';
import Paper from '@mui/material/Paper';
import Skeleton from '@mui/material/Skeleton';
import Table from '@mui/material/Table';
import TableBody from '@mui/material/TableBody';
import TableCell from '@mui/material/TableCell';
import TableContainer from '@mui/material/TableContainer';
import TableHead from '@mui/material/TableHead';
import TableRow from '@mui/material/TableRow';
import TableSortLabel from '@mui/material/TableSortLabel';
import { useListContext } from 'ra-core';
import type { ReactNode } from 'react';
import { Link as RouterLink, useNavigate } from 'react-router-dom';
import { textOf, type ValueObject } from '../data/json.ts';
import { can, nameOf, recordPath, type TypeInfo } from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { Related } from '../fields/related.tsx';
import { Shown } from '../fields/show.tsx';
import { type AllFound, isSelectable } from '../many/selected-bar.tsx';
import { useText } from '../texts/texts.ts';
import { type ColumnInfo, isRight, isSortable } from './columns.ts';

interface RecordTableProps {
  readonly type: TypeInfo;
  readonly columns: readonly ColumnInfo[];
  readonly all: AllFound;
}

const EXPECTED_ROWS = 8;

export function RecordTable({ type, columns, all }: RecordTableProps) {
  const say = useText();
  const { data, isPending, sort, setSort, filterValues, ...selection } = useListContext<StudioRecord>();
  const { selectedIds, onToggleItem, onSelect } = selection;
  const ids = data?.map(({ id }) => id) ?? [];
  const here = ids.filter((id) => selectedIds.includes(id));
  const isPageSelected = ids.length > 0 && here.length === ids.length;
  const togglePage = (): void => {
    const others = selectedIds.filter((id) => !ids.includes(String(id)));
    onSelect(isPageSelected ? others : [...others, ...ids]);
  };
  const navigate = useNavigate();
  const isOpened = can(type, 'get');
  if (data?.length === 0)
    return <Alert severity="info">{say(filterValues['where'] ? 'list.none_found' : 'list.empty')}</Alert>;
  return (
    <TableContainer component={Paper} variant="outlined" tabIndex={0} role="region" aria-label={type.title.many}>
      <Table size="small">
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
          {isPending
            ? Array.from({ length: EXPECTED_ROWS }, (_, row) => (
                <TableRow key={row}>
                  {columns.map(({ name }) => (
                    <TableCell key={name}>
                      <Skeleton />
                    </TableCell>
                  ))}
                </TableRow>
              ))
            : data?.map(({ id, values }) => (
                <TableRow
                  key={id}
                  hover
                  sx={isOpened ? { cursor: 'pointer' } : undefined}
                  onClick={(event) => {
                    if (isOpened && !isOfLink(event.target)) void navigate(recordPath(type, id));
                  }}
                >
                  {columns.map((column, index) => (
                    <TableCell key={column.name} align={isRight(column) ? 'right' : 'left'} sx={CELL}>
                      {index === 0 && isSelectable(type) && (
                        <Checkbox
                          size="small"
                          checked={all.isSelected || selectedIds.includes(id)}
                          disabled={all.isSelected}
                          onChange={() => onToggleItem(id)}
                          slotProps={{ input: { 'aria-label': say('many.select', { name: nameOf(type, values) }) } }}
                          sx={BOX}
                        />
                      )}
                      {index === 0 && isOpened ? (
                        <OpenLink type={type} id={id} values={values}>
                          {column.kind === 'identifier' ? textOf(values[column.name]) : cell(column, values)}
                        </OpenLink>
                      ) : (
                        cell(column, values)
                      )}
                    </TableCell>
                  ))}
                </TableRow>
              ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

const BOX = { p: 0.5, marginInlineEnd: 0.5 } as const;
const CELL = { maxWidth: 320, overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' } as const;

const isOfLink = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('a, button, input') !== null;

export function cell(column: ColumnInfo, values: ValueObject): ReactNode {
  if (column.kind === 'relation') return <Related relation={column.relation} value={values[column.name]} />;
  if (column.kind === 'field') return <Shown field={column.field} value={values[column.name]} isShort />;
  return <Box component="bdi">{textOf(values[column.name])}</Box>;
}

interface OpenLinkProps {
  readonly type: TypeInfo;
  readonly id: string;
  readonly values: ValueObject;
  readonly children: ReactNode;
}

function OpenLink({ type, id, values, children }: OpenLinkProps) {
  const say = useText();
  return (
    <Link
      component={RouterLink}
      to={recordPath(type, id)}
      // What is seen is part of what is heard.
      aria-label={say('list.open', {
        name: nameOf(type, values).includes(id) ? nameOf(type, values) : `${id} ${nameOf(type, values)}`,
      })}
    >
      {children}
    </Link>
  );
}
