/** Records that were left as they were, and why. */
import { PlainTable } from '../app/plain-table.tsx';
import { Link, Typography } from '@mui/material';
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
      <PlainTable
        label={title}
        maxHeight="40vh"
        rows={leftOut.slice(0, MOST).map(({ id, code, message }) => ({
          key: id,
          cells: [
            can(type, 'get') ? (
              // Beside this page, which still has more to say.
              <Link href={hrefOf(recordPath(type, id))} target="_blank" rel="noopener">
                {type.title.one} {id}
              </Link>
            ) : (
              `${type.title.one} ${id}`
            ),
            <bdi key="why">{code === OUTDATED ? say('many.outdated') : message}</bdi>,
          ],
        }))}
      />
      {leftOut.length > MOST && (
        <Typography variant="body2">{say('import.more', { smart_count: leftOut.length - MOST })}</Typography>
      )}
    </>
  );
}
