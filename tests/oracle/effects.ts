/** What a dry run reports, found out by comparing the records before with those after. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import type { JoinTable, RecordType } from '../../engine/model/model.ts';
import { reference, referenceName } from './template.ts';
import type { Expectation } from './case.ts';
import { type Id, idValue, type RecordRow, rowOf, rowsOf, type World } from './world.ts';

const KINDS = ['created', 'changed', 'linked', 'unlinked', 'deleted'] as const;
type Kind = (typeof KINDS)[number];

interface RowEffect {
  readonly kind: Kind;
  readonly type: RecordType;
  readonly relation?: string | undefined;
  readonly key?: string;
  readonly id: Id;
}

/** In the order of kinds, then types, then relations. */
function effectsOf(before: World, after: World): readonly JsonObject[] {
  const types = new Set([...before.rows.keys(), ...after.rows.keys()]);
  const changes = [
    ...[...types].flatMap((type) => changesOfRows(before, after, type)),
    ...[...after.joins].flatMap(([table]) => changesOfPairs(before, after, table)),
  ];
  const groups = Map.groupBy(changes, ({ kind, type, relation = '' }) =>
    [KINDS.indexOf(kind), type.name, relation].join(' '),
  );
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, all]) => effectOf(after, all));
}

function effectOf({ rank, given }: World, all: readonly RowEffect[]): JsonObject {
  const [first] = all;
  const keys = [...new Set(all.flatMap(({ key }) => key ?? []))].toSorted();
  const ids = [...new Set(all.map(({ id }) => id))].toSorted((a, b) => rank(a) - rank(b));
  // The service alone knows in which order it makes records.
  const someIdentifier = (): JsonValue => reference(`dry run ${(given.count += 1)}`);
  return {
    effect: first?.kind ?? '',
    type: first?.type.name ?? '',
    ...(first?.relation === undefined ? {} : { relation: first.relation }),
    ...(keys.length === 0 ? {} : { keys }),
    count: ids.length,
    identifiers: ids.map(first?.kind === 'created' && ids.length > 1 ? someIdentifier : idValue),
  };
}

function changesOfRows(before: World, after: World, type: RecordType): readonly RowEffect[] {
  const [old, now] = [rowsOf(before, type), rowsOf(after, type)];
  const gone = [...old.keys()].filter((id) => !now.has(id)).map((id) => ({ kind: 'deleted', type, id }) as const);
  return [...gone, ...[...now.values()].flatMap((row) => changesOfRow(type, old.get(row.id), row))];
}

function changesOfRow(
  type: RecordType,
  old: RecordRow | undefined,
  { id, values, links, open }: RecordRow,
): RowEffect[] {
  if (old === undefined) return [{ kind: 'created', type, id }];
  const fields = [...values].filter(
    ([field, value]) => field.generated === undefined && !isDeepStrictEqual(value, old.values.get(field)),
  );
  const keys = new Set([...old.open.keys(), ...open.keys()]);
  const opened = [...keys].filter((key) => !isDeepStrictEqual(open.get(key), old.open.get(key)));
  const moved = type.references.filter((link) => links.get(link) !== old.links.get(link));
  return [
    ...[...fields.map(([{ name }]) => name), ...opened].map((key) => ({ kind: 'changed', type, key, id }) as const),
    ...moved.map(
      (link) => ({ kind: links.has(link) ? 'linked' : 'unlinked', type, relation: link.relation?.name, id }) as const,
    ),
  ];
}

/** Of the records on both sides that are there before and after. */
function changesOfPairs(before: World, after: World, table: JoinTable): readonly RowEffect[] {
  const [old, now] = [before, after].map(
    ({ joins }) => new Map((joins.get(table) ?? []).map((one) => [String(one), one])),
  );
  const differing = (some: typeof old, others: typeof old, kind: Kind): readonly RowEffect[] =>
    [...(some ?? [])]
      .filter(([key]) => !others?.has(key))
      .flatMap(([, [left, right]]) => [
        { kind, type: table.left.type, relation: nameOf(table, 'left'), id: left },
        { kind, type: table.right.type, relation: nameOf(table, 'right'), id: right },
      ])
      .filter(({ type, id }) => rowOf(before, type, id) && rowOf(after, type, id));
  return [...differing(now, old, 'linked'), ...differing(old, now, 'unlinked')];
}

/** What one side calls the records on the other. */
const nameOf = (table: JoinTable, side: 'left' | 'right'): string | undefined =>
  [...table[side].type.relations.values()].find(
    ({ link }) => link.at === 'join' && link.table === table && link.sourceColumn === table[side].column,
  )?.name;

/** The same with other names for what was made: in earnest, the next record may get its identifier. */
function unmade(value: JsonValue, before: World): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => unmade(item, before));
  if (typeof value !== 'object' || value === null) return value;
  const name = referenceName(value);
  if (name === undefined)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unmade(item, before)]));
  const isKnown = !name.includes(':') || [...before.rows.values()].some((rows) => rows.has(name));
  return isKnown ? value : reference(`dry run ${name.replace(':', ' ')}`);
}

interface Worlds {
  readonly before: World;
  readonly after: World;
}

/** A dry run answers with a report of what is then undone. */
export function reported({ status, headers = {}, body }: Expectation, { before, after }: Worlds): Expectation {
  const told = ['location', 'etag', 'preference-applied'].filter((name) => (headers[name] ?? null) !== null);
  const anything = (): JsonObject => reference(`dry run ${(before.given.count += 1)}`);
  const effects = effectsOf(before, after);
  const answered = {
    status,
    headers: Object.fromEntries(told.map((name) => [NAMES[name] ?? name, anything()])),
    body: body ?? null,
  };
  return {
    status,
    headers: { 'content-type': DRY_RUN_TYPE, location: null, etag: null, 'preference-applied': null },
    body: unmade({ dryRun: true, answer: answered, effects }, before),
  };
}

const DRY_RUN_TYPE = 'application/vnd.dry-run+json';
const NAMES: Readonly<Record<string, string>> = {
  location: 'Location',
  etag: 'ETag',
  'preference-applied': 'Preference-Applied',
};
