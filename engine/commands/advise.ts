/** `advise` finds indexes that would speed up the lists in a log. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isObject, parsedJson } from '../json/json.ts';
import type { Field, Model, Relation, RecordType } from '../model/model.ts';
import { parseParameters } from '../query/parameters.ts';
import { ownPath } from '../query/paths.ts';
import { reasonOf, StartError } from '../problem.ts';
import { servedByIndex } from '../storage/read/heaviness.ts';
import { print } from '../process.ts';
import { BOOLEAN, command, readModel } from './command.ts';

const USAGE =
  'records advise [LOG] [--json]: reads the log of the service, which has slow statements with SLOW_STATEMENT_MS, or of a proxy with the addresses of requests, from a file or from standard input; exit code 0 nothing to do, 2 an index would help, 1 faults';

interface Advice {
  readonly type: string;
  readonly advice: string;
  readonly lists: number;
  /** The sum over all lists; undefined in the log of a proxy. */
  readonly milliseconds?: number;
}

export const advise = command(USAGE, { json: BOOLEAN }, ['[LOG]'], async ({ json }, [file], { schemaDirectory }) => {
  const all = together(await readLog(file), readModel(schemaDirectory));
  print(json ? JSON.stringify(all, null, 2) : format(all));
  return all.length === 0 ? 0 : 2;
});

interface LoggedList {
  readonly of: string;
  readonly query: string;
  readonly request?: string | undefined;
  readonly milliseconds?: number;
}

const REQUEST = /(?:^|[\s"])(?:GET\s+)?(?:https?:\/\/[^/\s"]+)?(?<path>\/[^\s"?]*)\?(?<query>[^\s"]+)/;

async function readLog(file: string | undefined): Promise<readonly LoggedList[]> {
  const lists: LoggedList[] = [];
  try {
    const input = file === undefined || file === '-' ? process.stdin : createReadStream(file);
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const found = line.startsWith('{') ? slowList(line) : requestedList(line);
      if (found) lists.push(found);
    }
  } catch (error) {
    throw new StartError(`${file ?? 'The log'} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  return lists;
}

function slowList(line: string): LoggedList | undefined {
  const fields = line.includes('"slow statement"') ? parsedJson(line) : undefined;
  if (!isObject(fields) || fields['operation'] !== 'list' || typeof fields['query'] !== 'string') return undefined;
  const { type, query, requestId, milliseconds } = fields;
  return { of: String(type), query, request: String(requestId), milliseconds: Number(milliseconds) };
}

function requestedList(line: string): LoggedList | undefined {
  const { path, query } = REQUEST.exec(line)?.groups ?? {};
  return path === undefined || query === undefined ? undefined : { of: path.slice(path.lastIndexOf('/') + 1), query };
}

function together(lists: readonly LoggedList[], model: Model): readonly Advice[] {
  const types = [...model.types.values()].filter((type) => type.operations.has('list'));
  const byName = new Map(
    types.flatMap((type) => [type.path, encodeURIComponent(type.path), type.name].map((name) => [name, type] as const)),
  );
  const judged = lists.flatMap((list) => {
    const type = byName.get(list.of);
    const members = type && missingIndex(type, list.query);
    return type && members ? [{ ...list, type: type.name, advice: wordsOf(members) }] : [];
  });
  const groups = Map.groupBy(judged, ({ type, advice }) => `${type}: ${advice}`);
  const all = [...groups.values()].map((same): Advice => {
    const { type, advice } = same[0] ?? { type: '', advice: '' };
    const milliseconds = same.reduce((sum, one) => sum + (one.milliseconds ?? 0), 0);
    // A request can have several slow statements.
    const count = new Set(same.map((one) => one.request ?? one)).size;
    return { type, advice, lists: count, ...(milliseconds > 0 ? { milliseconds } : {}) };
  });
  return all.toSorted((a, b) => (b.milliseconds ?? 0) - (a.milliseconds ?? 0) || b.lists - a.lists);
}

// Members compared with a value come first, then the order.

const MAX_MEMBERS = 4;

type Member = Field | Relation;

function missingIndex(type: RecordType, query: string): readonly Member[] | undefined {
  const [equal, listed]: [Set<Member>, Set<Member>] = [new Set(), new Set()];
  const words: string[] = [];
  for (const { steps: [name = '', operator] = [], value } of parseParameters(query).all) {
    const member = memberOf(type, name);
    if (name === 'orderBy') words.push(...value.split(/[\s,]+/));
    else if (member && operator === 'in') listed.add(member);
    else if (member && (operator ?? 'eq') === 'eq') equal.add(member);
  }
  const ordered = sortedMembers(type, words).filter((member) => !equal.has(member));
  // Databases often prefer an index of the order to an index of a range.
  const all = [...equal, ...(ordered.length > 0 ? ordered : [...listed].slice(0, 1))].slice(0, MAX_MEMBERS);
  const isThere = type.indexes.some(({ members }) => all.every((member, at) => members[at] === member));
  // A single relation needs no advice: every foreign key has an index.
  const needsNone = all.every((member) => 'link' in member) && all.length < 2;
  return all.length === 0 || isThere || needsNone ? undefined : all;
}

function memberOf({ fields, relations }: RecordType, name: string): Member | undefined {
  const relation = relations.get(name);
  return fields.get(name) ?? (relation?.link.at === 'source' ? relation : undefined);
}

const DIRECTION = /^(?:asc|desc)$/i;

function sortedMembers(type: RecordType, words: readonly string[]): readonly Field[] {
  const names = words.filter((word) => word !== '' && !DIRECTION.test(word));
  const fields = names.flatMap((name) => type.fields.get(name) ?? []);
  const descends = names.map((name) => /^desc$/i.test(words[words.indexOf(name) + 1] ?? ''));
  const order = fields.map((field) => ({ path: ownPath(type, field), descending: false }));
  const isOneWay = new Set(descends).size === 1;
  return fields.length === names.length && isOneWay && !servedByIndex({ view: { type }, order }) ? fields : [];
}

function wordsOf(members: readonly Member[]): string {
  const [first] = members;
  return members.length === 1 && first
    ? `${first.name}: { index: true }`
    : `indexes: [[${members.map(({ name }) => name).join(', ')}]]`;
}

function format(all: readonly Advice[]): string {
  if (all.length === 0) return 'No list in the log would be faster with another index.';
  return all
    .map(({ type, advice, lists, milliseconds }) => {
      const took = milliseconds === undefined ? '' : `, ${milliseconds} ms together`;
      return `${type}: ${advice}\n  for ${lists} ${lists === 1 ? 'list' : 'lists'} in the log${took}`;
    })
    .join('\n');
}
