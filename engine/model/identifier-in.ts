/** How a body names a record. */
import type { JsonObject } from '../json.ts';
import type { RecordType } from './model.ts';

/** The identifier that a body names its record by; null counts as absent. */
export function identifierIn(body: JsonObject, { identifier }: RecordType): number | undefined {
  const value = identifier.inRecord ? body[identifier.name] : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
