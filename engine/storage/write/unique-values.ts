/**
 * Finds the records that a body names by unique values: those to upsert, whose items become creates and updates, and those
 * that it links, which get their identifiers.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { byName, escapeStep, isObject, type JsonObject, type JsonValue } from '../../json/json.ts';
import type { RawMembers } from '../../json/tokenizer.ts';
import type { Identifier } from '../../model/identifier.ts';
import { linkKeyIn, placeIn, type RecordType, relationsIn, type UniqueMembers } from '../../model/model.ts';
import { ALL_RIGHTS, entryOf, type Rights, shows } from '../../model/rights.ts';
import { type Fault, faultyRequest, throwTogether } from '../../problem.ts';
import { Overtaken, type Values } from '../driver.ts';
import type { UpsertRequest, WriteItem, WriteRequest } from '../store.ts';
import { findHolder, keyIn } from './conflicts.ts';
import { seenAmong, type Transaction, type UnknownLinks } from './session.ts';

/** The record with these values, unless the client may not read it, or a record that it links: only a create tells of it then. */
async function findSeen(within: Transaction, rights: Rights, type: RecordType, unique: UniqueMembers, key: Values) {
  const holder = await findHolder(within.writer, within.tables.of(type), unique, key);
  if (holder === undefined) return undefined;
  const { set = {} } = entryOf(rights, type.name, 'create') ?? {};
  const asked = { ...within, rights, sight: new Map() };
  const isSeen = async (of: RecordType, identifier: SqlValue | undefined): Promise<boolean> =>
    (await seenAmong(asked, of, [identifier as Identifier])).length > 0;
  for (const [at, one] of unique.members.entries())
    if ('link' in one && !Object.hasOwn(set, one.name) && !(await isSeen(one.target, key[at]))) return undefined;
  return (await isSeen(type, holder)) ? holder : undefined;
}

/** If two writers both find no record, the unique index stops one, which runs again and finds the record. */
export async function findItems(transaction: Transaction, request: UpsertRequest) {
  const { type, unique, faultsIn, rights = ALL_RIGHTS } = request;
  const find = (key: Values) => findSeen(transaction, rights, type, unique, key);
  // The faults of other links are not known yet.
  const named = request.items.map(({ body, key = body, pointer }) => {
    return { body: byName(unique.members, ({ name }) => key[name]), pointer, identifier: undefined };
  });
  const { items: keyed } = await withLinked(transaction, { ...request, items: named });
  const keys = keyed.map(({ body }) => keyIn(unique, body, transaction.driver.dialect));
  const before = await Promise.all(keys.map(find));
  const items = request.items.map(({ body, pointer, place, precondition }, index): WriteItem => {
    return { body, pointer, place, identifier: before[index], precondition };
  });
  refuseTwice(request, items, keys);
  const locked = async (): Promise<void> => {
    const now = await Promise.all(keys.map((key, index) => (before[index] === undefined ? undefined : find(key))));
    if (now.some((identifier, index) => identifier !== before[index])) throw new Overtaken();
  };
  const missing = request.items.filter((_, index) => before[index] === undefined);
  const precondition = missing.length === 0 ? undefined : () => throwTogether(missing.map(({ absent }) => absent));
  return { items, unique, faults: faultsIn(items), mergePatch: false, locked, precondition, created: missing.length };
}

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
    const message = `${placeIn(items, pointer)} and ${placeIn(items, other)} are the same ${type.name} by ${names.join(', ')}; list it once`;
    return [{ pointer: `${pointer}/${escapeStep(names[0] ?? '')}`, code: 'duplicate', message }];
  });
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
}

export async function withLinked<R extends Pick<WriteRequest, 'type' | 'items' | 'raw' | 'faults' | 'rights'>>(
  transaction: Transaction,
  request: R,
): Promise<R & { readonly unknown: UnknownLinks }> {
  const raw = new Map<JsonObject, RawMembers>(request.raw);
  const unknown = new Map<JsonObject, Fault>();
  const faulty = (request.faults ?? []).flatMap((fault) => ('pointer' in fault ? fault.pointer : []));
  /** A copy with these entries, and without these fields, that keeps the raw values. */
  const replaced = (body: JsonObject, entries: JsonObject, members: UniqueMembers['members'] = []): JsonObject => {
    // Of a link, only the identifier has been compared.
    const kept = Object.entries(body).filter(([key]) => members.every((one) => 'link' in one || one.name !== key));
    const now = { ...Object.fromEntries(kept), ...entries };
    const texts = raw.get(body);
    if (texts) raw.set(now, texts);
    return now;
  };

  const { rights = ALL_RIGHTS } = request;
  async function linkedIn(type: RecordType, body: JsonObject, pointer: string): Promise<JsonObject> {
    const entries: Record<string, JsonValue> = {};
    for (const relation of relationsIn(type, body)) {
      const { name: key, target } = relation;
      const value = body[key] ?? null;
      const linked = async (item: JsonValue, at: string): Promise<JsonValue> => {
        if (!isObject(item)) return item;
        const inner = await linkedIn(target, item, at);
        const unique = faulty.some((one) => `${one}/`.startsWith(`${at}/`)) ? undefined : linkKeyIn(relation, item);
        if (!unique) return inner;
        const { members } = unique;
        const { name } = target.identifier;
        const isShown = members.every((one) => shows(rights, target, one.name));
        const values = keyIn(unique, inner, transaction.driver.dialect);
        const found = isShown ? await findSeen(transaction, rights, target, unique, values) : undefined;
        // A value that equals the stored one may be spelled differently.
        if (found !== undefined) return replaced(inner, { [name]: found }, members);
        const [first = name] = members.map((one) => one.name);
        const message = `There is no ${target.name} with this ${members.map((one) => `"${one.name}"`).join(' and ')}`;
        unknown.set(inner, { pointer: `${at}/${escapeStep(first)}`, code: 'not-found', message });
        return inner;
      };
      const at = `${pointer}/${escapeStep(key)}`;
      entries[key] = Array.isArray(value)
        ? await Promise.all(value.map((item: JsonValue, index) => linked(item, `${at}/${index}`)))
        : await linked(value, at);
    }
    return Object.keys(entries).length === 0 ? body : replaced(body, entries);
  }

  const items = await Promise.all(
    request.items.map(async (item) => ({ ...item, body: await linkedIn(request.type, item.body, item.pointer) })),
  );
  return { ...request, items, raw, unknown };
}
