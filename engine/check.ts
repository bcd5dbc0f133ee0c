/** Checks a schema directory: returns its Model, or every fault in it. */
import { loadDescriptors } from './descriptor/load.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { Model, RecordType } from './model/model.ts';
import { resolveModel } from './model/resolve.ts';
import { checkDefaults, checkSeeds, createValidators, type TypeValidators } from './validation/compile.ts';

interface CheckedSchema {
  readonly model: Model;
  readonly validatorsOf: (type: RecordType) => TypeValidators;
}

interface CheckReport {
  /** undefined if any diagnostic is an error. */
  readonly schema: CheckedSchema | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

export function checkSchema(directory: string): CheckReport {
  const { files, diagnostics } = loadDescriptors(directory);
  if (diagnostics.some(isError)) return { schema: undefined, diagnostics };
  const raw = new Map(files.flatMap((file) => [...file.raw]));
  const model = resolveModel(
    files.map(({ descriptor }) => descriptor),
    raw,
  );
  const validatorsOf = createValidators(model);
  const all = [...diagnostics, ...checkDefaults(files, model), ...checkSeeds(files, model, validatorsOf)];
  return { schema: all.some(isError) ? undefined : { model, validatorsOf }, diagnostics: all };
}

const isError = ({ severity }: Diagnostic): boolean => severity === 'error';
