/** The head of a column: it sorts, and has a menu for its place, its width and whether it is shown. */
import { Box, TableCell, TableSortLabel } from '@mui/material';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';
import { Actions } from '../app/menu.tsx';
import type { SortKey } from '../data/sort.ts';
import { useText } from '../texts/texts.ts';
import { type ChosenColumns, type ColumnInfo, isRight, isSortable } from './columns.ts';

interface ColumnHeadProps {
  readonly column: ColumnInfo;
  readonly index: number;
  readonly columns: ChosenColumns;
  readonly keys: readonly SortKey[];
  /** The last column of amounts. */
  readonly isAmount: boolean;
  readonly onSort: (name: string, isAdded: boolean) => void;
  /** What stands before the title. */
  readonly children?: ReactNode;
}

const MIN_WIDTH = 60;
const STEP = 20;

export function ColumnHead({ column, index, columns, keys, isAmount, onSort, children }: ColumnHeadProps) {
  const say = useText();
  const { name, title, description } = column;
  const [anchor, setAnchor] = useState<HTMLElement>();
  const at = keys.findIndex((key) => key.name === name);
  const direction = keys[at]?.isDescending === true ? 'desc' : 'asc';
  const width = columns.widths[name];

  /** One stop for Tab; arrows go from head to head. */
  const press = (event: KeyboardEvent<HTMLElement>): void => {
    const { key, currentTarget } = event;
    if (key === 'ArrowDown') setAnchor(currentTarget);
    else if (key === 'ArrowRight' || key === 'ArrowLeft') {
      const heads = [...(currentTarget.closest('tr')?.querySelectorAll<HTMLElement>('.head') ?? [])];
      heads[heads.indexOf(currentTarget) + (key === 'ArrowRight' ? 1 : -1)]?.focus();
    } else return;
    event.preventDefault();
  };

  const drag = (event: PointerEvent<HTMLElement>): void => {
    const { clientX: from, currentTarget, pointerId } = event;
    const before = currentTarget.parentElement?.offsetWidth ?? MIN_WIDTH;
    event.preventDefault();
    currentTarget.setPointerCapture(pointerId);
    const dragging = new AbortController();
    const { signal } = dragging;
    const move = ({ clientX }: globalThis.PointerEvent): void =>
      columns.resize(name, Math.max(MIN_WIDTH, before + clientX - from));
    currentTarget.addEventListener('pointermove', move, { signal });
    currentTarget.addEventListener('pointerup', () => dragging.abort(), { signal });
  };

  const items = [
    { text: say('column.ascending'), isOff: !isSortable(column), to: () => onSort(name, false) },
    { text: say('column.forward'), isOff: index === 0, to: () => columns.move(name, -1) },
    { text: say('column.backward'), isOff: index === columns.shown.length - 1, to: () => columns.move(name, 1) },
    {
      text: say('column.wider'),
      to: () => columns.resize(name, (width ?? anchor?.offsetWidth ?? MIN_WIDTH) + STEP),
    },
    { text: say('column.narrower'), to: () => columns.resize(name, Math.max(MIN_WIDTH, (width ?? 160) - STEP)) },
    { text: say('column.hide'), isOff: columns.shown.length === 1, to: () => columns.toggle(name) },
  ];
  return (
    <TableCell
      align={isRight(column) ? 'right' : 'left'}
      sortDirection={at === -1 ? false : direction}
      title={description}
      className={isAmount ? 'amount' : undefined}
      sx={width === undefined ? HEAD : { ...HEAD, width, minWidth: width, maxWidth: width }}
      onContextMenu={(event) => {
        event.preventDefault();
        setAnchor(event.currentTarget);
      }}
    >
      {children}
      <TableSortLabel
        className="head"
        active={at !== -1}
        hideSortIcon={!isSortable(column)}
        direction={at === -1 ? 'asc' : direction}
        tabIndex={index === 0 ? 0 : -1}
        aria-haspopup="menu"
        onKeyDown={press}
        onClick={({ shiftKey }) => isSortable(column) && onSort(name, shiftKey)}
      >
        {title}
        {at > 0 && <sup>{at + 1}</sup>}
      </TableSortLabel>
      <Box className="handle" aria-hidden onPointerDown={drag} />
      <Actions anchor={anchor} groups={[{ items }]} onClose={() => setAnchor(undefined)} />
    </TableCell>
  );
}

const HEAD = {
  overflow: 'hidden',
  textOverflow: 'ellipsis',
  '& .handle': {
    position: 'absolute',
    insetBlock: 0,
    insetInlineEnd: 0,
    width: 8,
    cursor: 'col-resize',
    touchAction: 'none',
    '&:hover': { bgcolor: 'divider' },
  },
} as const;
