/** What a body must be, compiled at boot for each type and variant. */
import type { JsonValue } from '../json.ts';
import type { Variant } from '../model/model.ts';
import type { Fault } from '../problem.ts';

/** All faults of a body (pointers into it), nested records included; empty where it is accepted. */
export type Validator = (body: JsonValue) => readonly Fault[];

export interface TypeValidators {
  create(variant: Variant): Validator;
  update(variant: Variant): Validator;
}
