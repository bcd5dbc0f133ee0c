/** Locks what a body names before anything is compared, in one order for every write, so that two never wait for each other. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { identifierIn } from '../../model/identifier-in.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import { remember, type Session } from './session.ts';

interface Named {
  readonly pointer: string;
  /** Only linked: it must not go, but others may link it too. */
  readonly kept: boolean;
}

/** As many as are cheaper to load by one statement than each by its own. */
const MANY = 8;

type Gathered = Map<RecordType, Map<number, Named>>;

/**
 * `identifier`: the record that is addressed; undefined for one that is to be made. Where writes run one by one nothing has
 * to be locked: many records of a type are loaded at once all the same.
 */
export async function lockNamed(
  session: Session,
  type: RecordType,
  identifier: number | undefined,
  body: JsonObject,
): Promise<void> {
  const { locks } = session.tables;
  if (!locks && type.relations.size === 0) return;
  const gathered: Gathered = new Map();
  if (locks && identifier !== undefined) note(gathered, type, identifier, { pointer: '', kept: false });
  gatherFrom(gathered, type, body, '');
  const inOrder = [...gathered].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1));
  for (const [named, records] of inOrder) {
    await lockAll(session, named, records, false);
    await lockAll(session, named, records, true);
  }
}

async function lockAll(
  session: Session,
  type: RecordType,
  records: ReadonlyMap<number, Named>,
  kept: boolean,
): Promise<void> {
  const identifiers = [...records].flatMap(([identifier, named]) => (named.kept === kept ? [identifier] : []));
  if (identifiers.length < (session.tables.locks ? 1 : MANY)) return;
  const { lock, keep } = session.tables.of(type);
  const rows = await session.writer.all(kept ? keep : lock, [JSON.stringify(identifiers)]);
  for (const row of rows) remember(session, type, row, records.get(Number(row[0]))?.pointer ?? '');
}

function note(gathered: Gathered, type: RecordType, identifier: number, { pointer, kept }: Named): void {
  const records = gathered.get(type) ?? new Map<number, Named>();
  gathered.set(type, records);
  const known = records.get(identifier);
  records.set(identifier, { pointer: known?.pointer ?? pointer, kept: kept && (known?.kept ?? true) });
}

function gatherFrom(gathered: Gathered, type: RecordType, body: JsonObject, pointer: string): void {
  for (const [key, value] of Object.entries(body)) {
    const relation = type.relations.get(key);
    if (!relation || typeof value !== 'object') continue;
    const at = `${pointer}/${escapeStep(key)}`;
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) gatherOne(gathered, relation, item, `${at}/${index}`);
    else gatherOne(gathered, relation, value, at);
  }
}

function gatherOne(gathered: Gathered, relation: Relation, value: JsonValue, pointer: string): void {
  if (!isObject(value)) return;
  const { target, link } = relation;
  const identifier = identifierIn(value, target);
  const kept = link.at !== 'target' && Object.keys(value).length === 1;
  if (identifier !== undefined) note(gathered, target, identifier, { pointer, kept });
  gatherFrom(gathered, target, value, pointer);
}
