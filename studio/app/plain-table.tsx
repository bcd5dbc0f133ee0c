/** A table of what is only read: it scrolls by itself, and its heads stay in sight. */
import { Paper, Table, TableBody, TableCell, TableContainer, TableHead, TableRow } from '@mui/material';
import type { Theme } from '@mui/material/styles';
import type { ReactNode } from 'react';

interface PlainTableProps {
  readonly label: string;
  readonly heads?: readonly { readonly key: string; readonly title: string; readonly isRight?: boolean }[];
  readonly rows: readonly { readonly key: string | number; readonly cells: readonly ReactNode[] }[];
  readonly maxHeight?: string;
  /** Whether each record keeps to one line. */
  readonly isNarrow?: boolean;
}

/** A table that scrolls says so with a shadow at the side where it goes on. */
export const SCROLLED = {
  backgroundImage: (theme: Theme) =>
    [theme.palette.background.paper, 'rgb(0 0 0 / 0.25)']
      .flatMap((color) => [
        `linear-gradient(to right, ${color}, transparent)`,
        `linear-gradient(to left, ${color}, transparent)`,
      ])
      .join(', '),
  backgroundPosition: 'left, right, left, right',
  backgroundRepeat: 'no-repeat',
  backgroundSize: '2.5rem 100%, 2.5rem 100%, 0.6rem 100%, 0.6rem 100%',
  backgroundAttachment: 'local, local, scroll, scroll',
} as const;

/** The last column of amounts stays whole, whatever scrolls below it. */
export const WHOLE = {
  '& .amount': {
    position: 'sticky',
    insetInlineEnd: 0,
    zIndex: 1,
    maxWidth: 'none !important',
    bgcolor: 'background.paper',
  },
  '& th.amount': { zIndex: 3 },
} as const;

const ONE_LINE = {
  '& td, & th': { whiteSpace: 'nowrap', maxWidth: 260, overflow: 'hidden', textOverflow: 'ellipsis' },
} as const;

export function PlainTable({ label, heads = [], rows, maxHeight, isNarrow = false }: PlainTableProps) {
  const alignOf = (index: number): 'left' | 'right' => (heads[index]?.isRight === true ? 'right' : 'left');
  const amount = heads.findLastIndex(({ isRight }) => isRight === true);
  const classOf = (index: number): string | undefined => (index === amount ? 'amount' : undefined);
  return (
    <TableContainer
      component={Paper}
      variant="outlined"
      tabIndex={0}
      role="region"
      aria-label={label}
      sx={{ maxHeight, ...SCROLLED }}
    >
      <Table size="small" stickyHeader={maxHeight !== undefined} sx={isNarrow ? { ...ONE_LINE, ...WHOLE } : undefined}>
        {heads.length > 0 && (
          <TableHead>
            <TableRow>
              {heads.map(({ key, title }, index) => (
                <TableCell key={key} align={alignOf(index)} className={classOf(index)}>
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
                <TableCell key={index} align={alignOf(index)} className={classOf(index)}>
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
