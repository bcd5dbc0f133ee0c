/** Creates or updates the records that have the unique values of a body. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, isObject, type JsonObject } from '../../json/json.ts';
import type { Identifier } from '../../model/identifier.ts';
import { identifierIn } from '../../model/model.ts';
import { type Fault, faultyRequest, throwTogether } from '../../problem.ts';
import { encode, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { Overtaken, type Values } from '../driver.ts';
import type { Upserted, UpsertRequest, WriteItem } from '../store.ts';
import { findHolder } from './conflicts.ts';
import { OF_RECORDS, writeRecords } from './records.ts';
import type { Transaction, Verb } from './verb.ts';

// If two writers both find no record, the unique index stops one, which runs again and finds the record.

export const upsert: Verb<UpsertRequest, Upserted> = {
  ...OF_RECORDS,
  run: async (transaction, request) => {
    const { made, ...found } = await foundFirst(transaction, request);
    return { ...(await writeRecords(transaction, { ...request, ...found })), made };
  },
};

/** Turns the items of an upsert into items of a write. */
async function foundFirst({ writer, tables, driver: { dialect } }: Transaction, request: UpsertRequest) {
  const { type, unique, faultsIn } = request;
  const find = (key: Values): Promise<Identifier | undefined> => findHolder(writer, tables.of(type), unique, key);
  const keys = request.items.map(({ body }) => keyOf(unique, body, dialect));
  const found = await Promise.all(keys.map(find));
  const items = request.items.map(({ body, pointer, precondition }, index): WriteItem => {
    return { body, pointer, identifier: found[index], precondition };
  });
  refuseTwice(request, items, keys);
  const locked = async (): Promise<void> => {
    const now = await Promise.all(keys.map((key, index) => (found[index] === undefined ? undefined : find(key))));
    if (now.some((identifier, index) => identifier !== found[index])) throw new Overtaken();
  };
  const missing = request.items.filter((_, index) => found[index] === undefined);
  const precondition = missing.length === 0 ? undefined : () => throwTogether(missing.map(({ absent }) => absent));
  return { items, faults: faultsIn(items), mergePatch: false, locked, precondition, made: missing.length };
}

/** A record to be created counts as null, since nothing is linked to it yet. */
const keyOf = ({ members }: UpsertRequest['unique'], body: JsonObject, { name }: Dialect): Values =>
  members.map((member): SqlValue => {
    const value = body[member.name] ?? null;
    if ('link' in member) return isObject(value) ? (identifierIn(value, member.target) ?? null) : null;
    const encoded = encode(member, name, value);
    return encoded === null ? null : heldOperand(member, name, encoded);
  });

function refuseTwice({ type, unique }: UpsertRequest, items: readonly WriteItem[], keys: readonly Values[]): void {
  const first = new Map<string, string>();
  const names = unique.members.map(({ name }) => name);
  const faults = items.flatMap(({ identifier, pointer }, index): readonly Fault[] => {
    const values = keys[index] ?? [];
    const key = identifier === undefined ? JSON.stringify(values) : String(identifier);
    const other = first.get(key);
    if (values.includes(null)) return [];
    first.set(key, other ?? pointer);
    if (other === undefined) return [];
    const message = `"${pointer}" and "${other}" are the same ${type.name} by ${names.join(', ')}; list it once`;
    return [{ pointer: `${pointer}/${escapeStep(names[0] ?? '')}`, code: 'duplicate', message }];
  });
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
}
