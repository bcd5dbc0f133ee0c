/** How a body names a record. */
import type { JsonObject } from '../json.ts';
import type { RecordType, Relation } from './model.ts';

/** The one child that a record has in an owned relation, as it is stored; null where there is none, undefined where nobody has asked. */
export type OwnChildOf = (relation: Relation, owner: number) => number | null | undefined;

/** The identifier that a body names its record by; null counts as absent. */
export function identifierIn(body: JsonObject, { identifier }: RecordType): number | undefined {
  const value = identifier.inRecord ? body[identifier.name] : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
