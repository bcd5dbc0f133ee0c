/** Records that were left as they were, and why. */
import { Grid } from '../app/grid.tsx';
import { Link, Typography } from '@mui/material';
import { hrefOf } from '../app/router.ts';
import { can, recordPath, type TypeInfo, useModel } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { reasonOf } from '../app/fault-text.ts';
import type { LeftOut } from './chosen.ts';

/** More would take long to draw. */
const MOST = 200;

interface LeftOutTableProps {
  readonly type: TypeInfo;
  readonly leftOut: readonly LeftOut[];
}

export function LeftOutTable({ type, leftOut }: LeftOutTableProps) {
  const say = useText();
  const model = useModel();
  if (leftOut.length === 0) return undefined;
  const title = say('many.left_out', { smart_count: leftOut.length });
  return (
    <>
      <Typography variant="body2" sx={{ mt: 2, mb: 1 }}>
        {title}
      </Typography>
      <Grid
        label={title}
        maxHeight="40vh"
        most={MOST}
        rows={leftOut.map(({ id, problem }) => ({
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
            <bdi key="why">{reasonOf(say, model, type, problem)}</bdi>,
          ],
        }))}
      />
    </>
  );
}
