/** Records that were left as they were, and why. */
import Link from '@mui/material/Link';
import Paper from '@mui/material/Paper';
import Table from '@mui/material/Table';
import TableBody from '@mui/material/TableBody';
import TableCell from '@mui/material/TableCell';
import TableContainer from '@mui/material/TableContainer';
import TableRow from '@mui/material/TableRow';
import Typography from '@mui/material/Typography';
import { hrefOf } from '../app/router.ts';
import { can, recordPath, type TypeInfo } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import type { LeftOut } from './chosen.ts';

/** More would take long to draw. */
const MOST = 200;
const OUTDATED = 'precondition-failed';

interface LeftOutTableProps {
  readonly type: TypeInfo;
  readonly leftOut: readonly LeftOut[];
}

export function LeftOutTable({ type, leftOut }: LeftOutTableProps) {
  const say = useText();
  if (leftOut.length === 0) return undefined;
  const title = say('many.left_out', { smart_count: leftOut.length });
  return (
    <>
      <Typography variant="body2" sx={{ mt: 2, mb: 1 }}>
        {title}
      </Typography>
      <TableContainer
        component={Paper}
        variant="outlined"
        tabIndex={0}
        role="region"
        aria-label={title}
        sx={{ maxHeight: '40vh' }}
      >
        <Table size="small">
          <TableBody>
            {leftOut.slice(0, MOST).map(({ id, code, message }) => (
              <TableRow key={id}>
                <TableCell sx={{ whiteSpace: 'nowrap' }}>
                  {can(type, 'get') ? (
                    // Beside this page, which still has more to say.
                    <Link href={hrefOf(recordPath(type, id))} target="_blank" rel="noopener">
                      {type.title.one} {id}
                    </Link>
                  ) : (
                    `${type.title.one} ${id}`
                  )}
                </TableCell>
                <TableCell>
                  <bdi>{code === OUTDATED ? say('many.outdated') : message}</bdi>
                </TableCell>
              </TableRow>
            ))}
          </TableBody>
        </Table>
      </TableContainer>
      {leftOut.length > MOST && (
        <Typography variant="body2">{say('import.more', { smart_count: leftOut.length - MOST })}</Typography>
      )}
    </>
  );
}
