/** A table of what is only read: it scrolls by itself, and its heads stay in sight. */
import { Paper, Table, TableBody, TableCell, TableContainer, TableHead, TableRow } from '@mui/material';
import type { ReactNode } from 'react';

interface PlainTableProps {
  readonly label: string;
  readonly heads?: readonly { readonly key: string; readonly title: string; readonly isRight?: boolean }[];
  readonly rows: readonly { readonly key: string | number; readonly cells: readonly ReactNode[] }[];
  readonly maxHeight?: string;
  /** Whether each record keeps to one line. */
  readonly isNarrow?: boolean;
}

const ONE_LINE = {
  '& td, & th': { whiteSpace: 'nowrap', maxWidth: 260, overflow: 'hidden', textOverflow: 'ellipsis' },
} as const;

export function PlainTable({ label, heads = [], rows, maxHeight, isNarrow = false }: PlainTableProps) {
  const alignOf = (index: number): 'left' | 'right' => (heads[index]?.isRight === true ? 'right' : 'left');
  return (
    <TableContainer
      component={Paper}
      variant="outlined"
      tabIndex={0}
      role="region"
      aria-label={label}
      sx={{ maxHeight }}
    >
      <Table size="small" stickyHeader={maxHeight !== undefined} sx={isNarrow ? ONE_LINE : undefined}>
        {heads.length > 0 && (
          <TableHead>
            <TableRow>
              {heads.map(({ key, title }, index) => (
                <TableCell key={key} align={alignOf(index)}>
                  {title}
                </TableCell>
              ))}
            </TableRow>
          </TableHead>
        )}
        <TableBody>
          {rows.map(({ key, cells }) => (
            <TableRow key={key}>
              {cells.map((content, index) => (
                // Cells have nothing but their places.
                // oxlint-disable-next-line react/no-array-index-key
                <TableCell key={index} align={alignOf(index)}>
                  {content}
                </TableCell>
              ))}
            </TableRow>
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}
