/** `check`, `describe` and `diff` need no database. */
import { stringify } from 'yaml';
import { checkRoles } from '../access/checks.ts';
import { checkSchema } from '../validation/check-schema.ts';
import { describeType, mermaidOf } from '../describe/describe.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { type Change, compareModels } from '../diff/diff.ts';
import type { RecordType } from '../model/model.ts';
import { print } from '../process.ts';
import { BOOLEAN, command, readModel, typeNamed } from './command.ts';

export const check = command(
  'records check [--json]: exits with 0 if there are no errors, otherwise 1',
  { json: BOOLEAN },
  [],
  async ({ json = false }, _, { schemaDirectory, accessDirectory }) => {
    const { model, diagnostics: own } = checkSchema(schemaDirectory);
    const access = model && checkRoles(accessDirectory, model);
    const diagnostics = [...own, ...(access?.diagnostics ?? [])];
    if (json) print(JSON.stringify(diagnostics, null, 2));
    else if (diagnostics.length > 0) print(formatDiagnostics(diagnostics));
    else {
      const types = model?.types.size ?? 0;
      print(`${types} record type${types === 1 ? '' : 's'} in ${schemaDirectory}, no faults`);
    }
    return access?.roles ? 0 : 1;
  },
);

export const describe = command(
  'records describe [TYPE] [--json | --diagram]',
  { json: BOOLEAN, diagram: BOOLEAN },
  ['[TYPE]'],
  async ({ json = false, diagram }, [name], { schemaDirectory }) => {
    const model = readModel(schemaDirectory);
    const types = name === undefined ? [...model.types.values()] : [typeNamed(model, name)];
    print(diagram ? mermaidOf(model) : formatTypes(types, json));
    return 0;
  },
);

function formatTypes(types: readonly RecordType[], json: boolean): string {
  const described = types.map((type) => describeType(type));
  if (json) return JSON.stringify(described, null, 2);
  return described
    .map((one) => stringify(one, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd())
    .join('\n---\n');
}

const DIFF = 'records diff OLD_DIR NEW_DIR [--json]: exits with 0 if nothing breaks, 3 if something does, 1 on errors';

export const diff = command(DIFF, { json: BOOLEAN }, ['OLD_DIR', 'NEW_DIR'], async ({ json }, [before, after]) => {
  const changes = compareModels(readModel(before), readModel(after));
  print(json ? JSON.stringify(changes, null, 2) : formatChanges(changes));
  return changes.some(({ breaking }) => breaking) ? 3 : 0;
});

function formatChanges(changes: readonly Change[]): string {
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
  return `${formatTable(rows)}\n\nBreaking for clients: ${breaking} of ${changes.length}.`;
}

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
