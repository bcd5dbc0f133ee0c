/** `advise`: the indexes that lists in a log would be faster with. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isObject, type JsonObject, parsedJson } from '../json.ts';
import type { Model, RecordType } from '../model/model.ts';
import { Problem } from '../problem.ts';
import type { ListQuery } from '../query/list-query.ts';
import { createQueryResolver, type TypeQueries } from '../query/resolve.ts';
import { readSettings } from '../settings.ts';
import { reasonOf, StartError } from '../start-error.ts';
import type { Driver } from '../storage/driver.ts';
import { planFor } from '../storage/migrate/apply.ts';
import { adviseOn, type ListAdvice, shownList } from '../storage/read/advice.ts';
import { print } from '../terminal.ts';
import { BOOLEAN, type Command, readOptions } from './command.ts';
import { withDatabase } from './transfer.ts';

const USAGE =
  'records advise [LOG] [--json]: reads the log of the service, or of a proxy with the addresses of requests, from a file or from standard input; exit code 0 nothing to do, 2 an index would help, 1 faults';

export const advise: Command = {
  usage: USAGE,
  run: async (args) => {
    const { values, positionals } = readOptions(args, { json: BOOLEAN }, 1, USAGE);
    const { logged, requested } = await readLog(positionals[0]);
    const measured =
      requested.size === 0 ? [] : await withDatabase((model, driver) => measure(model, driver, requested));
    const all = together([...logged, ...measured]);
    print(values.json ? JSON.stringify(all, null, 2) : format(all));
    return all.length === 0 ? 0 : 2;
  },
};

interface LoggedLists {
  /** What a service has told. */
  readonly logged: readonly ListAdvice[];
  /** How often each path was requested, query string included. */
  readonly requested: ReadonlyMap<string, number>;
}

/** The address of a request for a list, in the log of any server. */
const REQUEST = /(?:^|[\s"])(?:GET\s+)?(?:https?:\/\/[^/\s"]+)?(?<target>\/[^\s"?]*\?[^\s"]+)/;

async function readLog(file: string | undefined): Promise<LoggedLists> {
  const logged: ListAdvice[] = [];
  const requested = new Map<string, number>();
  try {
    const input = file === undefined || file === '-' ? process.stdin : createReadStream(file);
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const told = adviceIn(line);
      const target = told ? undefined : REQUEST.exec(line)?.groups?.['target'];
      if (told) logged.push(told);
      if (target !== undefined) requested.set(target, (requested.get(target) ?? 0) + 1);
    }
  } catch (error) {
    throw new StartError(`${file ?? 'The log'} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  return { logged, requested };
}

function adviceIn(line: string): ListAdvice | undefined {
  const fields = line.startsWith('{') && line.includes('"advice"') ? parsedJson(line) : undefined;
  if (!isObject(fields)) return undefined;
  const { type, advice, list } = fields as JsonObject;
  const number = (name: string): number => Number(fields[name] ?? 0);
  return {
    type: String(type),
    advice: String(advice),
    list: String(list),
    looked: number('looked'),
    answered: number('answered'),
    milliseconds: number('milliseconds'),
    times: number('times'),
  };
}

/** Each shape of list is run once. */
async function measure(
  own: Model,
  driver: Driver,
  requested: LoggedLists['requested'],
): Promise<readonly ListAdvice[]> {
  const { model } = await planFor(own, driver);
  const queriesOf = createQueryResolver(model, readSettings(process.env));
  const served = new Map([...model.types.values()].map((type) => [type.path, type]));
  const shapes = new Map<string, { readonly query: ListQuery; times: number }>();
  for (const [target, times] of requested) {
    const query = queryOf(target, served, queriesOf);
    if (query === undefined) continue;
    const key = `${query.view.type.name} ${shownList(query)}`;
    const known = shapes.get(key);
    if (known) known.times += times;
    else shapes.set(key, { query, times });
  }
  const all: ListAdvice[] = [];
  for (const { query, times } of shapes.values()) {
    const found = await adviseOn(driver, query, times);
    if (found) all.push(found);
  }
  return all;
}

/** undefined for what is not a list that the service would answer. */
function queryOf(
  target: string,
  served: ReadonlyMap<string, RecordType>,
  queriesOf: (type: RecordType) => TypeQueries,
): ListQuery | undefined {
  const [path = '', search = ''] = target.split('?', 2);
  const type = served.get(decode(path.slice(path.lastIndexOf('/') + 1)));
  if (type === undefined || !type.operations.has('list')) return undefined;
  try {
    return queriesOf(type).list(search);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Of the same list, told by several processes or on several days; those that take most time come first. */
function together(all: readonly ListAdvice[]): readonly ListAdvice[] {
  const groups = Map.groupBy(all, ({ type, advice, list }) => JSON.stringify([type, advice, list]));
  const merged = [...groups.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const times = same.reduce((sum, one) => sum + one.times, 0);
    const milliseconds = same.reduce((sum, one) => sum + one.milliseconds * one.times, 0) / Math.max(1, times);
    const most = (name: 'looked' | 'answered'): number => Math.max(...same.map((one) => one[name]));
    return {
      ...first,
      times,
      milliseconds: Math.round(milliseconds * 10) / 10,
      looked: most('looked'),
      answered: most('answered'),
    };
  });
  return merged.toSorted((a, b) => b.times * b.milliseconds - a.times * a.milliseconds);
}

function format(all: readonly ListAdvice[]): string {
  if (all.length === 0) return 'No list looks at many more records than it returns, as far as the log tells.';
  return all
    .map(
      ({ type, advice, list, looked, answered, milliseconds, times }) =>
        `${type}: ${advice}\n  ${list}\n  looked at ${looked} records to return ${answered}, ${milliseconds} ms, ${times === 1 ? 'once' : `${times} times`}`,
    )
    .join('\n');
}
