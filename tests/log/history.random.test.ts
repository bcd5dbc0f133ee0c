/** Random requests: the history of each record, from its start, gives the record; the old values of a change undo it. */
import type { Model, RecordType } from '../../engine/model/model.ts';
import fc, { shortening } from '../support/fast-check.ts';
import { randomSchema, writeSchema } from '../support/random-schema.ts';
import type { Bench } from '../support/replaying.ts';
import { afterRequests, operations, recordedNested } from './after-requests.ts';
import { some } from '../support/whole.ts';

type Values = Readonly<Record<string, unknown>>;

interface Entry {
  readonly type: string;
  readonly identifier: number | string;
  readonly operation: string;
  readonly relation?: string;
  readonly related?: number | string;
  readonly old?: Values;
  readonly new?: Values;
  readonly unrecorded?: readonly string[];
}

async function historyOf({ send }: Bench, path: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let next: string | undefined = `${path}/$history?limit=3`; next !== undefined;) {
    const { status, text, headers } = await send(`GET ${next}`, {}, undefined);
    expect([next, status]).toEqual([next, 200]);
    entries.push(...(JSON.parse(text) as Entry[]));
    next = /<https?:\/\/[^/]+(.*)>|<(.*)>/.exec(String(headers['link'] ?? ''))?.findLast((one) => one?.startsWith('/'));
  }
  return entries;
}

const present = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));

/** The record without sets of other types' records, and with links to one record as the log has them. */
function shownBy({ identifier, relations, fields }: RecordType, record: Values): Values {
  const own = Object.entries(record).flatMap(([key, value]): (readonly [string, unknown])[] => {
    const relation = relations.get(key);
    if (key === identifier.name || fields.get(key)?.sensitive) return [];
    if (!relation) return [[key, value]];
    const id = relation.target.identifier.name;
    if (relation.link.at === 'source') return [[key, value && { [id]: (value as Values)[id] }]];
    return relation.link.at === 'join' ? [[key, (value as Values[]).map((one) => one[id]).toSorted()]] : [];
  });
  return present(Object.fromEntries(own));
}

function folded({ name, relations }: RecordType, identifier: unknown, entries: readonly Entry[]): Values {
  let values: Values = {};
  const links = new Map(
    [...relations.values()].flatMap((one) => (one.link.at === 'join' ? [[one.name, new Set()]] : [])),
  );
  for (const entry of entries.toReversed()) {
    if (entry.type !== name || entry.identifier !== identifier) continue;
    const set = links.get(entry.relation ?? '');
    if (entry.operation === 'link') set?.add(entry.related);
    else if (entry.operation === 'unlink') set?.delete(entry.related);
    else values = entry.operation === 'delete' ? {} : { ...values, ...entry.new };
  }
  return {
    ...present(values),
    ...Object.fromEntries([...links].map(([relation, ids]) => [relation, [...ids].toSorted()])),
  };
}

/** In a PATCH, objects are merged; JavaScript rounds numbers. */
const isPlain = (values: Values): boolean =>
  Object.values(values).every((one) => one === null || ['string', 'boolean'].includes(typeof one));

async function undo(bench: Bench, type: RecordType, path: string, id: unknown): Promise<number> {
  const [change] = await historyOf(bench, path);
  const stamps = new Set([...type.fields.values()].flatMap(({ name, generated }) => (generated ? name : [])));
  const without = (values: Values = {}): Values =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !stamps.has(name)));
  const isOwn = change?.type === type.name && change.identifier === id;
  if (!isOwn || change.operation !== 'update' || change.unrecorded) return 0;
  const [was, is] = [without(change.old), without(change.new)];
  if (Object.keys(was).length === 0 || ![was, is].every(isPlain)) return 0;
  const headers = { 'content-type': 'application/merge-patch+json', 'if-match': '*' };
  const { status } = await bench.send(`PATCH ${path}`, headers, JSON.stringify(was));
  if (status !== 200) return 0;
  const [undone] = await historyOf(bench, path);
  expect([without(undone?.old), without(undone?.new)]).toEqual([is, was]);
  return 1;
}

async function checked(bench: Bench, model: Model) {
  let [records, undone] = [0, 0];
  for (const type of model.types.values()) {
    if (!type.operations.has('list') || !type.operations.has('get')) continue;
    const include = [...type.relations.values()].filter(({ link }) => link.at !== 'target').map(({ name }) => name);
    const list = await bench.send(`GET /api/${type.path}?include=${include.join()}`, {}, undefined);
    for (const record of JSON.parse(list.text) as Values[]) {
      const id = record[type.identifier.name];
      if (id === undefined) continue;
      const path = `/api/${type.path}/${encodeURIComponent(String(id))}`;
      const values = folded(type, id, await historyOf(bench, path));
      const shown = Object.fromEntries(Object.entries(values).filter(([name]) => name in record));
      expect([path, shown]).toEqual([path, shownBy(type, record)]);
      records += 1;
      undone += await undo(bench, type, path, id);
    }
  }
  return { records, undone };
}

test.each(some([1, 2]))('of random schemas, seed %i', async (seed) => {
  let records = 0;
  const property = fc.asyncProperty(
    randomSchema,
    operations(40),
    shortening(async (drawn, requests) => {
      const directory = writeSchema(drawn.map((one) => ({ ...one, history: true })));
      records += (await afterRequests(directory, requests, checked)).records;
    }),
  );
  await fc.assert(property, { seed, numRuns: 5 });
  expect(records).toBeGreaterThan(10);
});

test('of types with links, parts and unique values', async () => {
  let undone = 0;
  const property = fc.asyncProperty(
    operations(80),
    shortening(async (requests) => {
      undone += (await afterRequests(recordedNested(), requests, checked)).undone;
    }),
  );
  await fc.assert(property, { seed: 1, numRuns: 3 });
  expect(undone).toBeGreaterThan(0);
});
