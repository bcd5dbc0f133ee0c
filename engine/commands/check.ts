/** `check`: reports every fault in the descriptors, as text or JSON. */
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { print } from '../terminal.ts';
import { BOOLEAN, command } from './command.ts';

const USAGE = 'records check [--json]: exits with 0 if there are no errors, otherwise 1';

export const check = command(USAGE, { json: BOOLEAN }, 0, async ({ json = false }, _, { schemaDirectory }) => {
  const { schema, diagnostics } = checkSchema(schemaDirectory);
  if (json) print(JSON.stringify(diagnostics, null, 2));
  else if (diagnostics.length > 0) print(formatDiagnostics(diagnostics));
  else print(`${counted(schema?.model.types.size ?? 0)} in ${schemaDirectory}, no faults`);
  return schema ? 0 : 1;
});

const counted = (types: number): string => `${types} record type${types === 1 ? '' : 's'}`;
