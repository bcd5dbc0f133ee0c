/** Which index would have helped a list that looked at many more records than it answered. */
import { andThen, type Awaitable } from '../../awaitable.ts';
import { PATIENT } from '../../caller.ts';
import type { Field, Relation } from '../../model/model.ts';
import type { Filter, ListQuery, Path } from '../../query/list-query.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader } from '../driver.ts';
import { newestIn } from './list-work.ts';
import { compileList, servedByIndex } from './lists.ts';

export interface ListAdvice {
  readonly type: string;
  /** The word of the descriptor: `date: { index: true }` below `fields`, or `indexes: [[status, date]]`. */
  readonly advice: string;
  /** The list without its values: `_cnd[status]=…&_cnd[orderBy]=date`. */
  readonly list: string;
  /** How many records it looked at, and how many it answered. */
  readonly looked: number;
  readonly answered: number;
  /** On average. */
  readonly milliseconds: number;
  /** How often it was asked for. */
  readonly times: number;
}

/** A list that looks at more than this many times what it answers could be faster; one that looks at few records is not slow. */
const MUCH = 100;
const MANY_RECORDS = 1000;
/** Members that an index is advised to have. */
const MAX_MEMBERS = 4;

type Member = Field | Relation;

/** The index that finds what the filters ask for, in order; undefined if there is one, or none would help. */
function missingIndex(query: ListQuery): readonly Member[] | undefined {
  const { type } = query.view;
  const found = equalMembers(query.filters);
  const ordered = orderMembers(query).filter((member) => !found.includes(member));
  const all = [...found, ...(ordered.length > 0 ? ordered : listedMembers(query.filters, found))].slice(0, MAX_MEMBERS);
  const isThere = type.indexes.some(({ members }) => all.every((member, place) => members[place] === member));
  // A relation to one record has an index of its own.
  const needsNone = all.every((member) => 'link' in member) && all.length < 2;
  return isThere || needsNone ? undefined : all;
}

function equalMembers(filters: readonly Filter[]): readonly Member[] {
  return [...new Set(filters.flatMap((filter) => (isValue(filter, ['eq']) ? memberOf(filter.path) : [])))];
}

/** A range is left out: databases often prefer the order of the list to an index that finds it. */
function listedMembers(filters: readonly Filter[], found: readonly Member[]): readonly Member[] {
  const listed = filters.flatMap((filter) => (isValue(filter, ['in']) ? memberOf(filter.path) : []));
  return listed.filter((member) => !found.includes(member)).slice(0, 1);
}

const isValue = (filter: Filter, operators: readonly string[]): filter is Extract<Filter, { kind: 'value' }> =>
  filter.kind === 'value' && operators.includes(filter.operator);

/** What an index can have of a path: a field of the record itself, or its link to another one. */
function memberOf({ relations, field }: Path): readonly Member[] {
  const [first, second] = relations;
  if (first === undefined) return field ? [field] : [];
  return second === undefined && field === undefined && first.link.at === 'source' ? [first] : [];
}

/** The fields of the order, if an index can give it. */
function orderMembers(query: ListQuery): readonly Member[] {
  const fields = query.order.flatMap(({ path }) => path.field ?? []);
  const isOwn = query.order.every(({ path }) => path.relations.length === 0);
  const isOneWay = query.order.every(({ descending }) => descending === query.order[0]?.descending);
  return isOwn && isOneWay && !servedByIndex(query) ? fields : [];
}

/** The words of a descriptor that add the index. */
function wordsOf(members: readonly Member[]): string {
  const [first] = members;
  return members.length === 1 && first
    ? `${first.name}: { index: true }`
    : `indexes: [[${members.map(({ name }) => name).join(', ')}]]`;
}

/** Names only: values of records do not belong into a log. */
export function shownList({ filters, order }: ListQuery): string {
  const conditions = filters.map((filter) => {
    if ('items' in filter) return `_cnd[$${filter.kind}]…`;
    if (filter.kind !== 'value') return `_cnd[${filter.path.name}]…`;
    return `_cnd[${filter.path.name}]${filter.operator === 'eq' ? '' : `[${filter.operator}]`}=…`;
  });
  const terms = order.slice(0, -1).map(({ path, descending }) => path.name + (descending ? ' desc' : ''));
  return [...conditions, ...(terms.length === 0 ? [] : [`_cnd[orderBy]=${terms.join(', ')}`])].join('&');
}

/** How many records a list looks at. */
async function recordsLookedAt(reader: Reader, query: ListQuery, dialect: Dialect): Promise<number> {
  const list = compileList(query, dialect);
  const limit = query.limit === undefined ? dialect.unlimited : query.limit + 1;
  const { sql, read } = dialect.effort;
  const rows = await reader.all({ sql: sql(list.page.sql) }, [...list.values(query), limit, query.offset]);
  const effort = read(rows, query.view.type.table);
  if (typeof effort === 'number') return effort;
  const matching = await recordsMatching(reader, query, dialect);
  if (effort === 'matching') return matching;
  const all = await reader.count({ sql: `select count(*) from ${dialect.quote(query.view.type.table)}` }, []);
  const share =
    effort === 'all' || matching === 0 ? 1 : Math.min(1, ((query.limit ?? Infinity) + query.offset) / matching);
  return Math.round(all * share);
}

async function recordsMatching(reader: Reader, query: ListQuery, dialect: Dialect): Promise<number> {
  const list = compileList(query, dialect);
  return reader.count(list.count, list.filterValues(query));
}

/** What is known of lists of one shape. */
interface ListShape {
  readonly query: ListQuery;
  readonly members: readonly Member[];
  /** undefined: all that match, and nobody has counted them. */
  answered: number | undefined;
  milliseconds: number;
  times: number;
}

export interface Advisor {
  /** Takes note of how long a list took, and what it answered. */
  watch<T>(query: ListQuery, read: () => Awaitable<T>, answered: (result: T) => number | undefined): Awaitable<T>;
  close(): void;
}

/** Milliseconds after the first list of a shape, in which others of it are counted. */
const COUNTED_FOR = 5000;
/** Shapes that a process tells of: clients can make up any number. */
const MAX_SHAPES = 100;

const soon = (tell: () => void): NodeJS.Timeout => setTimeout(tell, COUNTED_FOR).unref();

/** Looks once at each shape of list, beside the requests, and tells of those that an index would help. */
export function createAdvisor(
  driver: Driver,
  onAdvice: (advice: ListAdvice) => void,
  later: (tell: () => void) => NodeJS.Timeout | undefined = soon,
): Advisor {
  const shapes = new Map<string, ListShape>();
  const waiting = new Set<ListShape>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function note(query: ListQuery, answered: number | undefined, milliseconds: number): void {
    const key = `${query.view.type.name} ${shownList(query)}`;
    const known = shapes.get(key);
    if (known) {
      known.times += 1;
      known.milliseconds += milliseconds;
      if (known.answered !== undefined)
        known.answered = answered === undefined ? undefined : Math.max(known.answered, answered);
      return;
    }
    const members = shapes.size < MAX_SHAPES ? missingIndex(query) : undefined;
    if (members === undefined || members.length === 0) return;
    const shape = { query, members, answered, milliseconds, times: 1 };
    shapes.set(key, shape);
    waiting.add(shape);
    if (waiting.size === 1) timer = later(() => void tell());
  }

  async function tell(): Promise<void> {
    for (const shape of waiting) {
      waiting.delete(shape);
      if (isClosed) return;
      try {
        const found = await lookAt(shape);
        if (found) onAdvice(found);
      } catch {
        // The database is busy, or cannot be reached: there are more important things than advice.
      }
    }
  }

  /** Most tables are small: nothing has to be looked at there. */
  async function lookAt(shape: ListShape): Promise<ListAdvice | undefined> {
    const newest = newestIn(shape.query.view.type, driver.dialect);
    if (await driver.isSmall(newest)) return undefined;
    const run = driver.isLarge([newest]) ? driver.scan : driver.read;
    return run((reader) => adviceOf(reader, shape, driver.dialect), PATIENT);
  }

  return {
    watch: (query, read, answered) => {
      const started = performance.now();
      return andThen(read(), (result) => {
        note(query, answered(result), performance.now() - started);
        return result;
      });
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** The same of one list, which is run for that. */
export async function adviseOn(driver: Driver, query: ListQuery, times: number): Promise<ListAdvice | undefined> {
  const { dialect } = driver;
  const members = missingIndex(query);
  if (members === undefined || members.length === 0) return undefined;
  const list = compileList(query, dialect);
  const values = [...list.values(query), query.limit ?? dialect.unlimited, query.offset];
  return driver.read(async (reader) => {
    const started = performance.now();
    const { length: answered } = await reader.column(list.identifiers, values);
    const milliseconds = (performance.now() - started) * times;
    return adviceOf(reader, { query, members, answered, milliseconds, times }, dialect);
  }, PATIENT);
}

async function adviceOf(reader: Reader, shape: ListShape, dialect: Dialect): Promise<ListAdvice | undefined> {
  const { query, members, milliseconds, times } = shape;
  const looked = await recordsLookedAt(reader, query, dialect);
  if (looked < MANY_RECORDS) return undefined;
  const answered = shape.answered ?? (await recordsMatching(reader, query, dialect));
  if (looked <= MUCH * Math.max(1, answered)) return undefined;
  return {
    type: query.view.type.name,
    advice: wordsOf(members),
    list: shownList(query),
    looked,
    answered,
    milliseconds: Math.round((milliseconds / times) * 10) / 10,
    times,
  };
}
