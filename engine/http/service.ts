/** All that the operations of one record type need, put together at boot. */
import type { Body, BodyLimits } from './body.ts';
import type { RecordType } from '../model/model.ts';
import { faultyRequest } from '../problem.ts';
import type { TypeQueries } from '../query/resolve.ts';
import type { Store, WriteRequest } from '../storage/store.ts';
import { disagreementsKnowing } from '../validation/agreement.ts';
import { asksStored } from '../validation/mentions.ts';
import type { TypeValidators, Validator } from '../validation/compile.ts';
import type { ReadContent } from './content.ts';
import type { Turns } from './turns.ts';

export interface Service {
  readonly type: RecordType;
  /** The path of the collection, as URLs write it. */
  readonly path: string;
  readonly store: Store;
  readonly queries: TypeQueries;
  readonly validators: TypeValidators;
  readonly readContent: ReadContent;
  /** Large bodies are worked on in turns: one to parse them, one to validate them. */
  readonly largeTurn: Turns;
  readonly limits: BodyLimits;
  /** Whose keys of creates these are: clients with other rights have others. */
  readonly scope: string;
  /** How long the answer to a create is kept for its retries. */
  readonly idempotencyHours: number;
}

/** The faults of a body, told at once unless the database has to be asked whether there are more. */
export function faultsIn(
  { type }: Pick<Service, 'type'>,
  validator: Validator,
  { body, raw }: Pick<Body, 'body' | 'raw'>,
  identifier?: number,
): Required<Pick<WriteRequest, 'faults' | 'disagreements'>> {
  const faults = validator(body, identifier, raw);
  if (faults.length > 0 && !asksStored(type, body, identifier)) throw faultyRequest('invalid-body', faults);
  return { faults, disagreements: disagreementsKnowing(type, body, identifier, raw) };
}
