/** `check`: reports every fault in the descriptors, as text or JSON. */
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { readSettings } from '../settings.ts';
import { print } from '../terminal.ts';
import { type Command, readOptions } from './command.ts';

const USAGE = 'records check [--json]: exits with 0 if there are no errors, otherwise 1';

export const check: Command = {
  usage: USAGE,
  run: async (options) => {
    const { json = false } = readOptions(options, { json: { type: 'boolean' } }, 0, USAGE).values;
    const { schemaDirectory } = readSettings(process.env);
    const { schema, diagnostics } = checkSchema(schemaDirectory);
    if (json) print(JSON.stringify(diagnostics, null, 2));
    else if (diagnostics.length > 0) print(formatDiagnostics(diagnostics));
    else print(`${counted(schema?.model.types.size ?? 0)} in ${schemaDirectory}, no faults`);
    return schema ? 0 : 1;
  },
};

const counted = (types: number): string => `${types} record type${types === 1 ? '' : 's'}`;
