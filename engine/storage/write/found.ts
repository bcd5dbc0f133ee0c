/** Writes of records that are found first: by unique values they are updated, or created; by filters they are deleted. */
import { MAX_IN_VALUES, type SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, isObject, type JsonObject } from '../../json/json.ts';
import { type Field, identifierIn, type Relation } from '../../model/model.ts';
import { type Fault, faultyRequest, Problem, throwTogether } from '../../problem.ts';
import type { ListQuery } from '../../query/list-query.ts';
import { encode, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { Overtaken, type Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type {
  CreateRequest,
  DeletedRecords,
  DeleteFoundRequest,
  Upserted,
  UpsertRequest,
  WriteItem,
  WrittenRecords,
} from '../store.ts';
import { findHolders, type LookedFor } from './conflicts.ts';
import { apply } from './apply.ts';
import { tooManyRows } from './cascade.ts';
import { effectsOf } from './preview.ts';
import { planDeletion } from './plan.ts';
import type { WriteSession } from './session.ts';
import type { Stamp } from './values.ts';
import type { Tables } from './tables.ts';

// By unique values. Where rows are locked, two writers may both find none: the unique index then stops one of them, whose
// transaction begins again and finds the record of the other.

/** Called within the transactions of the two ways. */
export interface UpsertHooks {
  /** Once the records are locked. */
  readonly locked?: () => Promise<void>;
  /** With what new records came to, where they were refused. */
  readonly refused?: (session: WriteSession, error: unknown) => Promise<void>;
}

interface Ways<R> {
  readonly tables: Tables;
  readonly dialect: Dialect;
  readonly write: (writer: Writer, request: R & CreateRequest & UpsertHooks) => Promise<WrittenRecords>;
}

export function createUpsert<R extends UpsertRequest>({
  tables,
  dialect,
  write,
}: Ways<R>): (writer: Writer, request: R) => Promise<Upserted> {
  /** The identifiers of the records that have these values; undefined where there is none. */
  const find = (writer: Writer, { type, unique }: Pick<R, 'type' | 'unique'>, keys: readonly LookedFor[]) =>
    findHolders(writer, tables.of(type), unique, keys);

  /** null for a record that is to be made: none is linked with it yet. */
  function operand(member: Field | Relation, body: JsonObject): SqlValue {
    const value = body[member.name] ?? null;
    if ('link' in member) return isObject(value) ? (identifierIn(value, member.target) ?? null) : null;
    const encoded = encode(member, dialect.name, value);
    return encoded === null ? null : heldOperand(member, dialect.name, encoded);
  }

  return async (writer, request) => {
    const { items, unique, faultsIn } = request;
    const keys = items.map(({ body }) => unique.members.map((member) => operand(member, body)));
    const found = await find(writer, request, keys);
    const wanted = items.map(({ body, pointer, precondition }, index): WriteItem => ({
      body,
      pointer,
      identifier: found[index],
      precondition,
    }));
    refuseTwice(request, wanted, keys);
    const keysAt = (places: readonly number[]): readonly LookedFor[] => places.map((place) => keys[place] ?? []);
    const missing = items.filter((_, index) => wanted[index]?.identifier === undefined);
    const locked = async (): Promise<void> => {
      const present = wanted.flatMap(({ identifier }, index) => (identifier === undefined ? [] : index));
      const now = await find(writer, request, keysAt(present));
      if (present.some((index, place) => now[place] !== wanted[index]?.identifier)) throw new Overtaken();
    };
    const refused: UpsertHooks['refused'] = async (session, error) => {
      if (!(error instanceof Problem && error.code === 'unique-conflict')) return;
      const absent = wanted.flatMap(({ identifier }, index) => (identifier === undefined ? index : []));
      const own = new Set(session.made.flatMap((node) => (node.type === request.type ? node.identifier : [])));
      const now = await find(writer, request, keysAt(absent));
      if (now.some((identifier) => identifier !== undefined && !own.has(identifier))) throw new Overtaken();
    };
    const asked = { ...request, items: wanted, faults: faultsIn(wanted), mergePatch: false, locked, refused };
    const precondition =
      missing.length === 0 ? undefined : (): void => throwTogether(missing.map(({ absent }) => absent));
    return { ...(await write(writer, { ...asked, precondition })), made: missing.length };
  };
}

/** One record cannot become two things at once. */
function refuseTwice(
  { type, unique: { members } }: Pick<UpsertRequest, 'type' | 'unique'>,
  items: readonly WriteItem[],
  keys: readonly (readonly SqlValue[])[],
): void {
  const first = new Map<string, string>();
  const names = members.map(({ name }) => name);
  const faults = items.flatMap(({ identifier, pointer }, index): readonly Fault[] => {
    const values = keys[index] ?? [];
    if (values.includes(null)) return [];
    const key = identifier === undefined ? JSON.stringify(values) : String(identifier);
    const other = first.get(key);
    if (other === undefined) {
      first.set(key, pointer);
      return [];
    }
    const message = `"${pointer}" and "${other}" are the same ${type.name} by ${names.join(', ')}; list it once`;
    return [{ pointer: `${pointer}/${escapeStep(names[0] ?? '')}`, code: 'duplicate', message }];
  });
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
}

// By filters: all that they find, or none. They are looked for outside the transaction, like a list, since that may take
// long; inside, those that are still found are deleted.

type DeletionRequest = DeleteFoundRequest & { readonly stamp: Stamp };

interface FoundOptions {
  readonly reads: Reads;
  readonly writeRows: number;
  readonly sessionOf: (writer: Writer, request: DeletionRequest) => WriteSession;
}

/** Records that are tested again at a time on SQLite, where other requests wait for each statement. */
const FEW = 20;

/** Runs the work in a transaction. */
type Transact<T> = (work: (writer: Writer) => Promise<DeletedRecords>) => Promise<T>;

type DeleteFound = <T>(request: DeletionRequest, transact: Transact<T>) => Promise<T>;

export function createDeleteFound({ reads, writeRows, sessionOf }: FoundOptions): DeleteFound {
  async function deleteThem(
    writer: Writer,
    request: DeletionRequest,
    found: readonly number[],
  ): Promise<DeletedRecords> {
    if (found.length === 0) return { deleted: 0, affected: 0, ...(request.dryRun ? { effects: [] } : {}) };
    const { query, most } = request;
    const session = sessionOf(writer, request);
    const still = await stillFound(writer, session, query, found);
    const tooMany = (): Problem =>
      most <= writeRows ? tooManyAffected(most) : tooManyRows(writeRows, { parameter: '_cnd' }, 'The request');
    const deletion = { type: query.view.type, identifiers: still, pointer: '' };
    const plan = await planDeletion(session, deletion, Math.min(most, writeRows), tooMany);
    const counts = { deleted: still.length, affected: plan.cascade.rows };
    if (request.dryRun) return { ...counts, effects: effectsOf(session.rights, plan) };
    await apply(session, plan);
    return counts;
  }

  async function stillFound(
    writer: Writer,
    { tables }: WriteSession,
    query: ListQuery,
    found: readonly number[],
  ): Promise<readonly number[]> {
    if (tables.locks) await writer.column(tables.of(query.view.type).hold('update'), [JSON.stringify(found)]);
    const still: number[] = [];
    const some = tables.locks ? MAX_IN_VALUES : FEW;
    for (let at = 0; at < found.length; at += some)
      for (const one of await reads.among(writer, query, found.slice(at, at + some))) still.push(one);
    return still;
  }

  return async (request, transact) => {
    const { query, most, caller } = request;
    const found = await reads.found({ ...query, limit: Math.min(most, writeRows) + 1 }, caller);
    return transact((writer) => deleteThem(writer, request, found));
  };
}

function tooManyAffected(most: number): Problem {
  const message =
    `The request would delete or unlink more records than the ${most} that max-affected allows; nothing was deleted. ` +
    'Use narrower filters or a higher max-affected; where it is high enough, dryRun=true says which records it would be';
  return new Problem('too-many-affected', message, {
    errors: [{ header: 'Prefer', code: 'too-many-affected', message }],
  });
}
