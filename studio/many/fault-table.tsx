/** The faults of a file, line by line. */
import { Grid } from '../app/grid.tsx';
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
    <Grid
      label={say('import.faults', { smart_count: faults.length })}
      maxHeight="50vh"
      most={MOST}
      heads={[
        { key: 'line', title: say('import.line'), isRight: true },
        { key: 'column', title: say('import.column') },
        { key: 'fault', title: say('import.fault') },
      ]}
      rows={faults.map(({ line, place, message, text }, index) => ({
        // Two faults may say the same.
        key: index,
        cells: [
          line,
          <bdi key="place">{titles.get(place) ?? place}</bdi>,
          <bdi key="fault">{text === undefined ? message : `${say('app.quoted', { text })} ${message}`}</bdi>,
        ],
      }))}
    />
  );
}
