/** Finds the records that have the unique values of a body, and turns an upsert into creates and updates. */
import { escapeStep } from '../../json/json.ts';
import type { Identifier } from '../../model/identifier.ts';
import { ALL_RIGHTS } from '../../model/rights.ts';
import { type Fault, faultyRequest, throwTogether } from '../../problem.ts';
import { Overtaken, type Values } from '../driver.ts';
import type { UpsertRequest, WriteItem } from '../store.ts';
import { findHolder, keyIn } from './conflicts.ts';
import { seenAmong, type Transaction } from './session.ts';

/** If two writers both find no record, the unique index stops one, which runs again and finds the record. */
export async function findItems(transaction: Transaction, request: UpsertRequest) {
  const { type, unique, faultsIn, rights = ALL_RIGHTS } = request;
  const { writer, tables, driver } = transaction;
  const find = async (key: Values): Promise<Identifier | undefined> => {
    const holder = await findHolder(writer, tables.of(type), unique, key);
    // A record that the client may not read is not found: only a create may tell of it.
    const asked = { ...transaction, rights, sight: new Map() };
    return holder === undefined ? undefined : (await seenAmong(asked, type, [holder]))[0];
  };
  const keys = request.items.map(({ body, key = body }) => keyIn(unique, key, driver.dialect));
  const before = await Promise.all(keys.map(find));
  const items = request.items.map(({ body, pointer, precondition }, index): WriteItem => {
    return { body, pointer, identifier: before[index], precondition };
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
    const message = `"${pointer}" and "${other}" are the same ${type.name} by ${names.join(', ')}; list it once`;
    return [{ pointer: `${pointer}/${escapeStep(names[0] ?? '')}`, code: 'duplicate', message }];
  });
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
}
