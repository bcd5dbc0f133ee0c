/** What a body must be, compiled at boot for each type and variant. */
import type { JsonValue } from '../json.ts';
import type { Variant } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import type { RawValues } from '../raw-json.ts';

/**
 * All faults of a body, nested records included, in its own order (pointers into it); empty where it is accepted.
 * `identifier`: that of the record which is addressed. `raw`: what of the body is kept as it was written.
 */
export type Validator = (body: JsonValue, identifier?: number, raw?: RawValues) => readonly Fault[];

export interface TypeValidators {
  create(variant: Variant): Validator;
  update(variant: Variant): Validator;
}
