/** Several reads by one statement on one connection. Those that ask for the same are read once; the total of pages is counted once. */
import type { BoundStatement, Statement, Values } from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { isConnectionLost, isRepeatable, translate } from './errors.ts';
import type { Answered, Ran } from './prepared.ts';
import { type PageParts, pageParts } from './reader.ts';
import { READ_ONLY } from './transaction.ts';

export interface SharedRead {
  readonly values: Values;
  /** Asks on a connection of its own. */
  readonly alone: () => Promise<Answered>;
  readonly resolve: (answered: Answered | Promise<Answered>) => void;
  readonly reject: (error: unknown) => void;
}

/** Those that get the same answer. */
interface SameRead {
  readonly call: BoundStatement;
  /** Of their total, if it is counted apart. */
  readonly count: BoundStatement | undefined;
  readonly asked: readonly SharedRead[];
}

/** An error is told to those who asked for what failed; the others are asked again. */
export async function readTogether(
  connection: PostgresConnection,
  statement: Statement,
  asked: readonly SharedRead[],
): Promise<void> {
  const groups = grouped(statement, asked);
  const counts = [...new Set(groups.flatMap(({ count }) => count ?? []))];
  const calls = [...counts, ...groups.map(({ call }) => call)];
  const { answers, error } = await (counts.length > 0 ? inSnapshot : inTurn)(connection, calls);
  const answerTo = new Map(calls.map((call, place) => [call, answers[place]]));
  const unanswered = groups.filter((group) => {
    const answered = withTotal(answerTo.get(group.call), group.count && answerTo.get(group.count));
    if (answered) for (const { resolve } of group.asked) resolve(answered);
    return answered === undefined;
  });
  if (unanswered.length === 0) return undefined;
  if (isAgain(error)) {
    connection.spoil();
    for (const { alone, resolve } of unanswered.flatMap((group) => group.asked)) resolve(alone());
    return undefined;
  }
  const failed = calls[answers.length];
  const behind: SharedRead[] = [];
  for (const { call, count, asked: same } of unanswered)
    if (call !== failed && count !== failed) behind.push(...same);
    else for (const { reject } of same) reject(translate(error));
  return behind.length === 0 ? undefined : readTogether(connection, statement, behind);
}

/** What was only asked in the wrong place, or at the wrong time. */
const isAgain = (error: unknown): boolean => isConnectionLost(error) || isRepeatable(error);

function grouped(statement: Statement, asked: readonly SharedRead[]): readonly SameRead[] {
  const pages = byValues(asked, ({ values }) => values);
  const parts = pageParts(statement);
  const apart = parts ? byValues(pages, ([{ values }]) => values.slice(parts.values)) : pages.map((page) => [page]);
  return apart.flatMap((alike) => withSameTotal(statement, parts, alike));
}

/** Totals that several pages ask for are counted apart. */
function withSameTotal(
  statement: Statement,
  parts: PageParts | undefined,
  pages: readonly Some<SharedRead>[],
): readonly SameRead[] {
  const [first] = pages;
  if (!parts || !first || pages.length === 1)
    return pages.map((asked) => ({ call: { statement, values: asked[0].values }, count: undefined, asked }));
  const count = { statement: parts.count, values: first[0].values.slice(parts.values) };
  return pages.map((asked) => {
    const values = asked[0].values.slice(0, parts.values);
    return { call: { statement: parts.page, values }, count, asked };
  });
}

type Some<T> = readonly [T, ...T[]];

/** Those with equal values, in the order of the first of each. */
function byValues<T>(all: readonly T[], valuesOf: (one: T) => Values): readonly Some<T>[] {
  const found = new Map<string, [T, ...T[]]>();
  for (const one of all) {
    const key = JSON.stringify(valuesOf(one));
    const alike = found.get(key);
    if (alike) alike.push(one);
    else found.set(key, [one]);
  }
  return [...found.values()];
}

function withTotal(page: Answered | undefined, counted: Answered | undefined): Answered | undefined {
  const [total] = counted?.rows[0] ?? [];
  if (page === undefined || total === undefined) return page;
  return { ...page, rows: page.rows.map((row) => [...row.slice(0, -1), total]) };
}

/** In one transaction, unless the connection does not know all of them: then it gets to know them. */
async function inTurn(connection: PostgresConnection, calls: readonly BoundStatement[]): Promise<Ran> {
  const known = connection.queryAll(calls);
  if (known) return known;
  const asked = connection.atOnce(() => calls.map(({ statement, values }) => connection.query(statement, values)));
  const settled = await Promise.allSettled(asked);
  const answers: Answered[] = [];
  for (const outcome of settled) {
    if (outcome.status === 'rejected') return { answers, error: outcome.reason };
    answers.push(outcome.value);
  }
  return { answers };
}

async function inSnapshot(connection: PostgresConnection, calls: readonly BoundStatement[]): Promise<Ran> {
  const [ran, ...around] = connection.atOnce(() => {
    const begun = connection.execute(READ_ONLY);
    return [inTurn(connection, calls), begun, connection.execute('commit')] as const;
  });
  // What ails the connection is told by the statements.
  await Promise.allSettled(around);
  return ran;
}
