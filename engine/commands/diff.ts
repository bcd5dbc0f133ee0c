/** `diff OLD_DIR NEW_DIR`: what a change of descriptors means for HTTP clients; its exit code is a gate for CI. */
import type { Change } from '../diff/change.ts';
import { compareModels } from '../diff/diff.ts';
import { StartError } from '../start-error.ts';
import { print } from '../terminal.ts';
import { BOOLEAN, command, readModel } from './command.ts';

const USAGE = 'records diff OLD_DIR NEW_DIR [--json]: exits with 0 if nothing breaks, 3 if something does, 1 on errors';
const BREAKING = 3;

export const diff = command(USAGE, { json: BOOLEAN }, 2, async ({ json }, [before, after]) => {
  if (before === undefined || after === undefined) throw new StartError(`Give two schema directories\n${USAGE}`);
  const changes = compareModels(readModel(before), readModel(after));
  print(json ? JSON.stringify(changes, null, 2) : format(changes));
  return changes.some(({ breaking }) => breaking) ? BREAKING : 0;
});

function format(changes: readonly Change[]): string {
  if (changes.length === 0) return 'Nothing changes for clients.';
  const rows = changes
    .toSorted((a, b) => Number(b.breaking) - Number(a.breaking))
    .map(({ breaking, type, name, kind, description }) => [
      breaking ? 'breaking' : '',
      name === undefined ? type : `${type}.${name}`,
      kind,
      description,
    ]);
  const breaking = changes.filter((change) => change.breaking).length;
  return `${formatTable(rows)}\n\n${breaking} of ${changes.length} break clients.`;
}

/** Rows of text in columns. */
function formatTable(rows: readonly (readonly string[])[]): string {
  const width = (column: number): number => Math.max(...rows.map((row) => [...(row[column] ?? '')].length));
  const widths = (rows[0] ?? []).map((_, column) => width(column));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
