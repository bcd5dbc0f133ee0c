/** Checks a schema directory: returns its Model, or every fault in it. */
import { loadDescriptors } from './descriptor/load.ts';
import type { Diagnostic } from './diagnostic.ts';
import { referredFirst } from './model/model.ts';
import { resolveModel } from './model/resolve.ts';
import { createValidators } from './validation/compile.ts';
import { checkDefaults, checkSeeds } from './validation/seeds.ts';

export function checkSchema(directory: string) {
  const { files, diagnostics } = loadDescriptors(directory);
  const model = resolveModel(files.map(({ descriptor }) => descriptor));
  const validatorsOf = createValidators(model);
  // Faulty relations make the order unknown.
  const order = diagnostics.some(isError) ? [] : referredFirst(model.types.values());
  const later = [...checkDefaults(files, model), ...checkSeeds(files, model, validatorsOf, order)];
  // The first fault of a location is more specific.
  const reported = new Set(diagnostics.filter(isError).map(locationOf));
  const all = [...diagnostics, ...later.filter((one) => !reported.has(locationOf(one)))];
  return { schema: all.some(isError) ? undefined : { model, validatorsOf }, diagnostics: all };
}

const locationOf = ({ file, line, column }: Diagnostic): string => `${file}:${line}:${column}`;

const isError = ({ severity }: Diagnostic): boolean => severity === 'error';
