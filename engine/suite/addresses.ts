/** Where records are, and how bodies and headers name them. */
import type { JsonObject } from '../json.ts';
import { MAX_GIVEN_IDENTIFIER, type RecordType } from '../model/model.ts';
import type { Request } from './case.ts';
import { idText, type Query, search } from './query-text.ts';
import { type Id, idValue } from './reference/world.ts';

/** An identifier that no record has: clients cannot choose it. */
export const MISSING_ID = MAX_GIVEN_IDENTIFIER + 1;

export const collectionPath = (type: RecordType, query: Query = []): string =>
  `/api/${encodeURIComponent(type.path)}${search(query)}`;

export const itemPath = (type: RecordType, id: Id, query: Query = []): string =>
  `/api/${encodeURIComponent(type.path)}/${idText(id)}${search(query)}`;

/** What a write to a type with `preconditions: required` needs; any record that is there will do. */
export const guard = (type: RecordType): Pick<Request, 'headers'> =>
  type.preconditions === 'required' ? { headers: { 'if-match': '*' } } : {};

export const linkTo = (type: RecordType, id: Id): JsonObject => ({ [type.identifier.name]: idValue(id) });
