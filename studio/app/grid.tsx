/** The one table of the studio: its heads stay in sight, it says where it goes on, and its last amounts stay whole. */
import { Paper, Table, TableBody, TableCell, TableContainer, TableFooter, TableHead, TableRow } from '@mui/material';
import type { SxProps, Theme } from '@mui/material/styles';
import type { ReactNode, Ref } from 'react';
import { useText } from '../texts/texts.ts';

interface Head {
  readonly key: string;
  readonly title: ReactNode;
  readonly isRight?: boolean;
  /** A cell of its own in place of the title. */
  readonly cell?: ReactNode;
}

interface GridProps {
  readonly label: string;
  readonly heads?: readonly Head[];
  /** Rows that are only read. */
  readonly rows?: readonly { readonly key: string | number; readonly cells: readonly ReactNode[] }[];
  /** Rows of their own. */
  readonly children?: ReactNode;
  readonly footer?: readonly ReactNode[] | undefined;
  /** So many rows are drawn; of the others, their number is said. */
  readonly most?: number;
  readonly maxHeight?: string;
  /** Whether each row keeps to one line. */
  readonly isNarrow?: boolean;
  /** Whether Tab stops at nothing within it, so that keys scroll the table. */
  readonly isScrolledByKeys?: boolean;
  readonly tableRef?: Ref<HTMLTableElement>;
  readonly sx?: SxProps<Theme>;
}

const lastAmount = (heads: readonly { readonly isRight?: boolean }[]): number =>
  heads.findLastIndex(({ isRight }) => isRight === true);

export function Grid(props: GridProps) {
  const { label, heads = [], rows = [], children, footer, maxHeight, isNarrow = false, tableRef, sx = {} } = props;
  const { isScrolledByKeys = true, most = rows.length } = props;
  const say = useText();
  const amount = lastAmount(heads);
  const styled = (index: number) =>
    ({
      align: heads[index]?.isRight === true ? 'right' : 'left',
      className: index === amount ? 'amount' : undefined,
    }) as const;
  return (
    <TableContainer
      component={Paper}
      variant="outlined"
      role="region"
      aria-label={label}
      sx={{ maxHeight, '@media print': { maxHeight: 'none' }, ...SCROLLED }}
      {...(isScrolledByKeys ? { tabIndex: 0 } : {})}
    >
      <Table
        {...(tableRef === undefined ? {} : { ref: tableRef })}
        size="small"
        stickyHeader={maxHeight !== undefined}
        sx={[WHOLE, isNarrow ? ONE_LINE : {}, ...[sx].flat()] as SxProps<Theme>}
      >
        {heads.length > 0 && (
          <TableHead>
            <TableRow>
              {heads.map(
                ({ key, title, cell }, index) =>
                  cell ?? (
                    <TableCell key={key} {...styled(index)}>
                      {title}
                    </TableCell>
                  ),
              )}
            </TableRow>
          </TableHead>
        )}
        <TableBody>
          {rows.slice(0, most).map(({ key, cells }) => (
            <TableRow key={key}>
              {cells.map((content, index) => (
                // Cells have nothing but their places.
                // oxlint-disable-next-line react/no-array-index-key
                <TableCell key={index} {...styled(index)}>
                  {content}
                </TableCell>
              ))}
            </TableRow>
          ))}
          {children}
          {rows.length > most && (
            <TableRow>
              <TableCell colSpan={heads.length || 9}>
                {say('import.more', { smart_count: rows.length - most })}
              </TableCell>
            </TableRow>
          )}
        </TableBody>
        {footer !== undefined && (
          <TableFooter>
            <TableRow>
              {footer.map((content, index) => (
                // oxlint-disable-next-line react/no-array-index-key
                <TableCell key={index} {...styled(index)}>
                  {content}
                </TableCell>
              ))}
            </TableRow>
          </TableFooter>
        )}
      </Table>
    </TableContainer>
  );
}

/** A shadow at the side where it goes on. */
const SCROLLED = {
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

const WHOLE = {
  '& th': { bgcolor: 'background.paper' },
  '& .amount': {
    // On a phone it would cover what stands beside it.
    position: { sm: 'sticky' },
    insetInlineEnd: { sm: 0 },
    zIndex: 1,
    maxWidth: 'none !important',
    bgcolor: 'background.paper',
  },
  '& th.amount': { zIndex: 3 },
  '& .MuiTableRow-hover:hover > .amount': {
    backgroundImage: ({ palette }: Theme) => `linear-gradient(${palette.action.hover}, ${palette.action.hover})`,
  },
} as const;

const ONE_LINE = {
  '& td, & th': { whiteSpace: 'nowrap', maxWidth: 260, overflow: 'hidden', textOverflow: 'ellipsis' },
} as const;
