/** Checks a schema directory: returns its Model, or every fault in it. */
import { loadDescriptors } from './descriptor/load.ts';
import type { Diagnostic } from './diagnostic.ts';
import { referredFirst } from './model/model.ts';
import { resolveModel } from './model/resolve.ts';
import { createValidators } from './validation/compile.ts';
import { checkDefaults, checkSeeds } from './validation/seeds.ts';

export function checkSchema(directory: string) {
  const { files, diagnostics } = loadDescriptors(directory);
  if (diagnostics.some(isError)) return { schema: undefined, diagnostics };
  const model = resolveModel(files.map(({ descriptor }) => descriptor));
  const validatorsOf = createValidators(model);
  const order = referredFirst(model.types.values());
  const all = [...diagnostics, ...checkDefaults(files, model), ...checkSeeds(files, model, validatorsOf, order)];
  return { schema: all.some(isError) ? undefined : { model, validatorsOf }, diagnostics: all };
}

const isError = ({ severity }: Diagnostic): boolean => severity === 'error';
