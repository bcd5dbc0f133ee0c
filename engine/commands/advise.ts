/** `advise`: the indexes that lists in a log would be faster with, judged by what they ask for. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isObject, parsedJson } from '../json/json.ts';
import type { Field, Model, Relation, RecordType } from '../model/model.ts';
import { parseParameters } from '../query/parameters.ts';
import { ownPath } from '../query/paths.ts';
import { reasonOf, StartError } from '../problem.ts';
import { servedByIndex } from '../storage/read/lists.ts';
import { print } from '../process.ts';
import { BOOLEAN, command, readModel } from './command.ts';

const USAGE =
  'records advise [LOG] [--json]: reads the log of the service, which has slow statements with SLOW_STATEMENT_MS, or of a proxy with the addresses of requests, from a file or from standard input; exit code 0 nothing to do, 2 an index would help, 1 faults';

interface Advice {
  readonly type: string;
  /** The word of the descriptor: `date: { index: true }` below `fields`, or `indexes: [[status, date]]`. */
  readonly advice: string;
  /** How many lists in the log it would help. */
  readonly lists: number;
  /** The duration of their slow statements together; undefined in the log of a proxy. */
  readonly milliseconds?: number;
}

export const advise = command(USAGE, { json: BOOLEAN }, 1, async ({ json }, [file], { schemaDirectory }) => {
  const all = together(await readLog(file), readModel(schemaDirectory));
  print(json ? JSON.stringify(all, null, 2) : format(all));
  return all.length === 0 ? 0 : 2;
});

/** A list as a line of the log has it. */
interface LoggedList {
  /** The name of the type, or the last part of its path. */
  readonly of: string;
  /** The query string; its values may be left out. */
  readonly query: string;
  /** The same for several slow statements of one list. */
  readonly request?: string | undefined;
  readonly milliseconds?: number;
}

/** The address of a request for a list, in the log of any server. */
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

/** The lists that take most time come first. */
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
    // Several slow statements may belong to one request; a line of a proxy is one.
    const count = new Set(same.map((one) => one.request ?? one)).size;
    return milliseconds > 0 ? { type, advice, lists: count, milliseconds } : { type, advice, lists: count };
  });
  return all.toSorted((a, b) => (b.milliseconds ?? 0) - (a.milliseconds ?? 0) || b.lists - a.lists);
}

// The rule: what is asked for by value, then what the list is sorted by.

/** Members that an index is advised to have. */
const MAX_MEMBERS = 4;

type Member = Field | Relation;

/** The index that finds what the filters ask for, in order; undefined if there is one, or none would help. */
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
  // A range is left out: databases often prefer the order of the list to an index that finds it.
  const all = [...equal, ...(ordered.length > 0 ? ordered : [...listed].slice(0, 1))].slice(0, MAX_MEMBERS);
  const isThere = type.indexes.some(({ members }) => all.every((member, place) => members[place] === member));
  // A relation to one record has an index of its own.
  const needsNone = all.every((member) => 'link' in member) && all.length < 2;
  return all.length === 0 || isThere || needsNone ? undefined : all;
}

/** A possible member of an index: a field of the record itself, or its link to another one. */
function memberOf({ fields, relations }: RecordType, name: string): Member | undefined {
  const relation = relations.get(name);
  return fields.get(name) ?? (relation?.link.at === 'source' ? relation : undefined);
}

const DIRECTION = /^(?:asc|desc)$/i;

/** The fields of the order, if an index can give it, and none does. */
function sortedMembers(type: RecordType, words: readonly string[]): readonly Field[] {
  const names = words.filter((word) => word !== '' && !DIRECTION.test(word));
  const fields = names.flatMap((name) => type.fields.get(name) ?? []);
  const descends = names.map((name) => /^desc$/i.test(words[words.indexOf(name) + 1] ?? ''));
  const order = fields.map((field) => ({ path: ownPath(type, field), descending: false }));
  const isOneWay = new Set(descends).size === 1;
  return fields.length === names.length && isOneWay && !servedByIndex({ view: { type }, order }) ? fields : [];
}

/** The words of a descriptor that add the index. */
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
