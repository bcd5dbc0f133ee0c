/**
 * Creates the record that has certain unique values, or updates it. Where rows are locked, two writers may both find none:
 * the unique index then stops one of them, whose transaction begins again and finds the record of the other.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { type Field, identifierIn, type Relation } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import { encode, heldOperand } from '../columns.ts';
import { type Dialect, Overtaken, type Writer } from '../driver.ts';
import type { CreateRequest, UpsertRequest, Upserted, WrittenRecords } from '../store.ts';
import type { WriteSession } from './session.ts';
import type { Tables } from './tables.ts';

/** Called within the transactions of the two ways. */
export interface UpsertHooks {
  /** Once the record is locked. */
  readonly locked?: () => Promise<void>;
  /** With what a new record came to, where it was refused. */
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
  async function find(writer: Writer, { type, unique, body }: R): Promise<number | undefined> {
    const values = unique.members.map((member) => operand(member, body));
    if (values.includes(null)) return undefined;
    const found = await writer.value(tables.of(type).holder(unique), [...values, 0]);
    return found === undefined ? undefined : Number(found);
  }

  /** null for a record that is to be made: none is linked with it yet. */
  function operand(member: Field | Relation, body: JsonObject): SqlValue {
    const value = body[member.name] ?? null;
    if ('link' in member) return isObject(value) ? (identifierIn(value, member.target) ?? null) : null;
    const encoded = encode(member, dialect.name, value);
    return encoded === null ? null : heldOperand(member, dialect.name, encoded);
  }

  async function make(writer: Writer, request: R): Promise<Upserted> {
    const refused: UpsertHooks['refused'] = async (session, error) => {
      if (!(error instanceof Problem && error.code === 'unique-conflict')) return;
      const found = await find(writer, request);
      const isOwn = session.made.some(({ type, identifier }) => type === request.type && identifier === found);
      if (found !== undefined && !isOwn) throw new Overtaken();
    };
    const { body, checked, absent: precondition } = request;
    const items = [{ body, pointer: '', identifier: undefined }];
    const wanted = { ...request, items, ...checked(undefined), mergePatch: false, precondition, refused };
    return { ...(await write(writer, wanted)), isNew: true };
  }

  async function change(writer: Writer, request: R, identifier: number): Promise<Upserted> {
    const locked = async (): Promise<void> => {
      if ((await find(writer, request)) !== identifier) throw new Overtaken();
    };
    const { body, checked, precondition } = request;
    const items = [{ body, pointer: '', identifier, precondition }];
    const wanted = { ...request, items, ...checked(identifier), mergePatch: false, precondition: undefined, locked };
    return { ...(await write(writer, wanted)), isNew: false };
  }

  return async (writer, request) => {
    const identifier = await find(writer, request);
    return identifier === undefined ? make(writer, request) : change(writer, request, identifier);
  };
}
