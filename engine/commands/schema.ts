/** The model of a schema directory, for commands that need a faultless one. */
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import type { Model } from '../model/model.ts';
import { StartError } from '../start-error.ts';

/** Throws a StartError with every diagnostic. */
export function readModel(directory: string): Model {
  const { schema, diagnostics } = checkSchema(directory);
  if (schema === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return schema.model;
}
