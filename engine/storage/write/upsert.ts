/**
 * Creates the records that have certain unique values, or updates them. Where rows are locked, two writers may both find none:
 * the unique index then stops one of them, whose transaction begins again and finds the record of the other.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, isObject, type JsonObject } from '../../json.ts';
import { type Field, identifierIn, type Relation } from '../../model/model.ts';
import { type Fault, faultyRequest, Problem, throwTogether } from '../../problem.ts';
import { encode, heldOperand } from '../columns.ts';
import { type Dialect, Overtaken, type Writer } from '../driver.ts';
import type { CreateRequest, UpsertRequest, Upserted, WriteItem, WrittenRecords } from '../store.ts';
import type { WriteSession } from './session.ts';
import { HELD_TOGETHER, type Tables } from './tables.ts';

/** Called within the transactions of the two ways. */
export interface UpsertHooks {
  /** Once the records are locked. */
  readonly locked?: () => Promise<void>;
  /** With what new records came to, where they were refused. */
  readonly refused?: (session: WriteSession, error: unknown) => Promise<void>;
}

/** The values of the unique members. */
type LookedFor = readonly SqlValue[];

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
  type Asked = Pick<R, 'type' | 'unique'>;

  /** The identifiers of the records that have these values; undefined where there is none. */
  async function find(
    writer: Writer,
    { type, unique }: Asked,
    keys: readonly LookedFor[],
  ): Promise<readonly (number | undefined)[]> {
    const { holder, holders } = tables.of(type);
    const [only, ...others] = keys;
    if (only === undefined) return [];
    const found: (SqlValue | undefined)[] = [];
    if (others.length === 0 && !only.includes(null)) found.push(await writer.value(holder(unique), [...only, 0]));
    const none = only.map(() => null);
    for (let from = 0; others.length > 0 && from < keys.length; from += HELD_TOGETHER) {
      const some = Array.from({ length: HELD_TOGETHER }, (_, place) => keys[from + place] ?? none);
      found.push(...((await writer.get(holders(unique), some.flat())) ?? []));
    }
    return keys.map((_, index) => ((found[index] ?? null) === null ? undefined : Number(found[index])));
  }

  /** null for a record that is to be made: none is linked with it yet. */
  function operand(member: Field | Relation, body: JsonObject): SqlValue {
    const value = body[member.name] ?? null;
    if ('link' in member) return isObject(value) ? (identifierIn(value, member.target) ?? null) : null;
    const encoded = encode(member, dialect.name, value);
    return encoded === null ? null : heldOperand(member, dialect.name, encoded);
  }

  return async (writer, request) => {
    const { items, unique, checked } = request;
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
    const asked = { ...request, items: wanted, ...(await checked(wanted)), mergePatch: false, locked, refused };
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
