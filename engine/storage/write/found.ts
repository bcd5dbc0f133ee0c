/** Writes that search first: upserts by unique values, deletion by filters. */
import { MAX_IN_VALUES, type SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, isObject, type JsonObject } from '../../json/json.ts';
import { identifierIn } from '../../model/model.ts';
import { type Fault, faultyRequest, Problem, throwTogether } from '../../problem.ts';
import { encode, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { Overtaken, type Values, type Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { DeletedRecords, DeleteFoundRequest, UpsertRequest, WriteItem } from '../store.ts';
import { type Refusal, tooManyRows } from './cascade.ts';
import { findHolder } from './conflicts.ts';
import { apply, planDeletion } from './plan.ts';
import { effectsOf } from './preview.ts';
import type { WriteSession } from './session.ts';
import type { Tables } from './tables.ts';
import type { Stamp } from './values.ts';

// Upserts. If two writers both find no record, the unique index stops one, which runs again and finds the record.

/** Turns the items of an upsert into items of a write. */
export async function foundFirst(writer: Writer, tables: Tables, dialect: Dialect, request: UpsertRequest) {
  const { type, unique, faultsIn } = request;
  const find = (key: Values): Promise<number | undefined> => findHolder(writer, tables.of(type), unique, key);
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

// Deletion by filters: a long search runs before the transaction, which deletes only records that still match.

type DeletionRequest = DeleteFoundRequest & { readonly stamp: Stamp };

/** Records per statement on SQLite, where other requests wait for it. */
const SQLITE_BATCH = 20;

export async function deleteFound<T>(
  reads: Reads,
  writeRows: number,
  sessionOf: (writer: Writer, request: DeletionRequest) => WriteSession,
  request: DeletionRequest,
  transact: (work: (writer: Writer) => Promise<DeletedRecords>) => Promise<T>,
): Promise<T> {
  const { query, most, caller } = request;
  const limit = Math.min(most, writeRows);
  const tooMany: Refusal = (_deletion, _through, affected) =>
    affected > most ? tooManyAffected(most) : tooManyRows(writeRows, { parameter: '_cnd' }, 'The request');
  const found = await reads.found({ ...query, limit: limit + 1 }, caller);
  return transact(async (writer) => {
    const session = sessionOf(writer, request);
    const { locks, of } = session.tables;
    if (locks && found.length > 0) await writer.column(of(query.view.type).hold('update'), [JSON.stringify(found)]);
    const identifiers: number[] = [];
    const some = locks ? MAX_IN_VALUES : SQLITE_BATCH;
    for (let at = 0; at < found.length; at += some)
      for (const one of await reads.among(writer, query, found.slice(at, at + some))) identifiers.push(one);
    const plan = await planDeletion(
      session,
      { type: query.view.type, identifiers, pointer: '' },
      writeRows,
      tooMany,
      most,
    );
    const counts = { deleted: identifiers.length, affected: plan.cascade.affected };
    if (request.dryRun) return { ...counts, effects: effectsOf(session.rights, plan) };
    await apply(session, plan);
    return counts;
  });
}

function tooManyAffected(most: number): Problem {
  const message =
    `The request would delete or unlink more records than the ${most} that max-affected allows; nothing was deleted. ` +
    'Use narrower filters or a higher max-affected; where it is high enough, dryRun=true says which records it would be';
  return new Problem('too-many-affected', message, {
    errors: [{ header: 'Prefer', code: 'too-many-affected', message }],
  });
}
