/** A seed record must be one that its own type would accept from a client. */
import type { DescriptorFile } from '../descriptor/load.ts';
import { diagnose, type Path } from '../descriptor/source.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { unescapedSteps } from '../json.ts';
import type { Model, RecordType } from '../model/model.ts';
import type { TypeValidators } from './validators.ts';

/** Codes of faults that lie in a key, not in its value. */
const AT_KEY = new Set(['unknown-key']);

export function checkSeeds(
  files: readonly DescriptorFile[],
  model: Model,
  validatorsOf: (type: RecordType) => TypeValidators,
): readonly Diagnostic[] {
  return files.flatMap((file) => {
    const type = model.types.get(file.descriptor.type);
    if (!type || type.seed.length === 0) return [];
    const validate = validatorsOf(type).create(type.defaultVariant);
    return type.seed.flatMap((record, index) =>
      validate(record).map((fault) => {
        const path: Path = ['seed', index, ...('pointer' in fault ? unescapedSteps(fault.pointer) : [])];
        return diagnose(file, 'invalid-seed', path, AT_KEY.has(fault.code) ? 'key' : 'value', fault.message);
      }),
    );
  });
}
