/** All that the operations of one record type need, put together at boot. */
import type { JsonObject } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import { faultyRequest } from '../problem.ts';
import type { TypeQueries } from '../query/resolve.ts';
import type { Store } from '../storage/store.ts';
import type { TypeValidators, Validator } from '../validation/validators.ts';
import type { BodyLimits } from './body-limits.ts';
import type { ReadContent } from './content.ts';

export interface Service {
  readonly type: RecordType;
  /** The path of the collection, as URLs write it. */
  readonly path: string;
  readonly store: Store;
  readonly queries: TypeQueries;
  readonly validators: TypeValidators;
  readonly readContent: ReadContent;
  readonly limits: BodyLimits;
  /** Whose keys of creates these are: clients with other rights have others. */
  readonly scope: string;
  /** How long the answer to a create is kept for its retries. */
  readonly idempotencyHours: number;
}

export function requireValid(validator: Validator, body: JsonObject): void {
  const faults = validator(body);
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
}
