/** Which child an owner has, where the body does not name it: noted while the body is resolved, or read from the database. */
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { identifierIn, type RecordType, type Relation } from '../../model/model.ts';
import type { Fault } from '../../problem.ts';
import type { WriteRequest } from '../store.ts';
import type { Node, WriteSession } from './session.ts';

/** `current`: the identifiers of the children that the owner has. */
export function noteOwnChild(
  session: WriteSession,
  { identifier, stored }: Node,
  relation: Relation,
  value: JsonValue,
  [current]: readonly number[],
): void {
  if (!relation.owned || relation.toMany || !stored || identifier === undefined) return;
  if (isObject(value) && identifierIn(value, relation.target) === undefined)
    known(session, relation).set(identifier, current ?? null);
}

function known({ ownChildren }: WriteSession, relation: Relation): Map<number, number | null> {
  const children = ownChildren.get(relation) ?? new Map<number, number | null>();
  ownChildren.set(relation, children);
  return children;
}

/** The body's own part of a write; `identifier` is that of the record which is addressed. */
export type Asked = Pick<WriteRequest, 'type'> & {
  readonly identifier: number | undefined;
  readonly disagreements: WriteRequest['disagreements'];
};

/** All places where the body contradicts itself; undefined if what is stored does not tell more than the body. */
export async function findDisagreements(
  session: WriteSession,
  { type, identifier, disagreements }: Asked,
): Promise<readonly Fault[] | undefined> {
  // A body without a fault was resolved completely: every child that it does not name is noted.
  if (!disagreements || (session.ownChildren.size === 0 && session.faults.length === 0)) return undefined;
  await askIn(session, type, identifier, session.body);
  return session.ownChildren.size === 0
    ? undefined
    : disagreements((relation, owner) => session.ownChildren.get(relation)?.get(owner));
}

/** Reads the children in places that were not resolved because they, or places around them, are faulty. */
async function askIn(
  session: WriteSession,
  type: RecordType,
  identifier: number | undefined,
  body: JsonObject,
): Promise<void> {
  for (const [key, value] of Object.entries(body)) {
    const relation = type.relations.get(key);
    if (!relation) continue;
    for (const item of Array.isArray(value) ? value : [value]) {
      if (!isObject(item)) continue;
      const named = identifierIn(item, relation.target);
      const own = named ?? (await ownChild(session, relation, identifier));
      await askIn(session, relation.target, own, item);
    }
  }
}

async function ownChild(
  session: WriteSession,
  relation: Relation,
  owner: number | undefined,
): Promise<number | undefined> {
  const { owned, toMany, link, target } = relation;
  if (owner === undefined || !owned || toMany || link.at !== 'target') return undefined;
  const asked = known(session, relation);
  const found = asked.get(owner);
  if (found !== undefined) return found ?? undefined;
  const { children } = session.tables.of(target);
  const [child] = (await session.writer.column(children(link.reference.column), [owner, 1])) as readonly number[];
  asked.set(owner, child ?? null);
  return child;
}
