/** What is wrong with a file, line by line. */
import Paper from '@mui/material/Paper';
import Table from '@mui/material/Table';
import TableBody from '@mui/material/TableBody';
import TableCell from '@mui/material/TableCell';
import TableContainer from '@mui/material/TableContainer';
import TableHead from '@mui/material/TableHead';
import TableRow from '@mui/material/TableRow';
import Typography from '@mui/material/Typography';
import type { TypeInfo } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import type { LineFault } from './import.ts';

/** More would take long to draw, and nobody reads them before the first ones are mended. */
const MOST = 500;

interface FaultTableProps {
  readonly type: TypeInfo;
  readonly faults: readonly LineFault[];
}

export function FaultTable({ type, faults }: FaultTableProps) {
  const say = useText();
  const titles = new Map([...type.fields, ...type.relations].map(({ name, title }) => [name, title]));
  return (
    <>
      <TableContainer
        component={Paper}
        variant="outlined"
        tabIndex={0}
        role="region"
        aria-label={say('import.faults', { smart_count: faults.length })}
        sx={{ maxHeight: '50vh' }}
      >
        <Table size="small" stickyHeader>
          <TableHead>
            <TableRow>
              <TableCell align="right">{say('import.line')}</TableCell>
              <TableCell>{say('import.column')}</TableCell>
              <TableCell>{say('import.fault')}</TableCell>
            </TableRow>
          </TableHead>
          <TableBody>
            {faults.slice(0, MOST).map(({ line, place, message }, index) => (
              // Two faults may say the same.
              // oxlint-disable-next-line react/no-array-index-key
              <TableRow key={index}>
                <TableCell align="right">{line}</TableCell>
                <TableCell>
                  <bdi>{titles.get(place) ?? place}</bdi>
                </TableCell>
                <TableCell>
                  <bdi>{message}</bdi>
                </TableCell>
              </TableRow>
            ))}
          </TableBody>
        </Table>
      </TableContainer>
      {faults.length > MOST && (
        <Typography variant="body2">{say('import.more', { smart_count: faults.length - MOST })}</Typography>
      )}
    </>
  );
}
