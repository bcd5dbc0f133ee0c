/** `check`: every fault of the descriptors, for people or for machines. */
import { loadDescriptors } from '../descriptor/load.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { readSettings } from '../settings.ts';
import { type Command, readFlags } from './command.ts';

export const check: Command = {
  run: async (options) => {
    const { json } = readFlags(options, ['json']);
    const { schemaDirectory } = readSettings(process.env);
    const { descriptors, diagnostics } = await loadDescriptors(schemaDirectory);
    if (json) console.log(JSON.stringify(diagnostics, null, 2));
    else if (diagnostics.length > 0) console.log(formatDiagnostics(diagnostics));
    else console.log(`${descriptors.length} record types in ${schemaDirectory}, no fault`);
    return diagnostics.some(({ severity }) => severity === 'error') ? 1 : 0;
  },
};
