/** Sends the requests of cases to a service and tells where its answers differ from what the cases say. */
import { type Bindings, fill, fillHeaders, fillPath } from './bindings.ts';
import type { Case, Step } from './case.ts';
import { type Answer, type Client, createClient } from './client.ts';
import { compareAnswer } from './compare-answer.ts';
import type { Difference } from './match.ts';

/** What each table holds, by its name: any text that differs when the rows differ. */
export type Snapshot = ReadonlyMap<string, string>;

export interface ReplayOptions {
  readonly url: string;
  readonly token?: string;
  /** Speaks to the service in place of a client of the replayer's own. */
  readonly client?: Client;
  /** Sees into the database behind the service, so that `changes` can be checked. */
  readonly observe?: () => Promise<Snapshot>;
  readonly onProgress?: (result: Result, done: number, all: number) => void;
  /** Asked before each case: true ends the replay. */
  readonly stop?: () => boolean;
}

export interface Failure {
  /** The request as it was sent. */
  readonly request: string;
  readonly differences: readonly Difference[];
}

export interface Result {
  readonly case: Case;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly failures: readonly Failure[];
  readonly milliseconds: number;
}

interface Session {
  readonly client: Client;
  readonly options: ReplayOptions;
  /** The last snapshot: what was there before the next step. */
  snapshot: Snapshot | undefined;
}

const MAX_TEXT = 2_000;

async function send(session: Session, step: Step, bindings: Bindings): Promise<{ answer: Answer; request: string }> {
  const { method, path, headers, body, text } = step.request;
  const token = session.options.token;
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(fill(body, bindings)));
  const all = {
    ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...fillHeaders(headers ?? {}, bindings),
  };
  const filled = fillPath(path, bindings);
  const request = `${method} ${filled}${sent === undefined ? '' : ` ${sent.slice(0, MAX_TEXT)}`}`;
  return { request, answer: await session.client.send({ method, path: filled, headers: all, text: sent }) };
}

function changed(before: Snapshot, after: Snapshot): string[] {
  return [...after.keys()].filter((table) => before.get(table) !== after.get(table)).toSorted();
}

async function tableDifferences(session: Session, step: Step): Promise<Difference[]> {
  if (session.options.observe === undefined || session.snapshot === undefined) return [];
  const after = await session.options.observe();
  const got = changed(session.snapshot, after).join(', ');
  session.snapshot = after;
  if (step.changes === undefined) return [];
  const expected = step.changes.toSorted().join(', ');
  return got === expected ? [] : [{ place: 'changed tables', expected: expected || 'none', got: got || 'none' }];
}

async function replayStep(session: Session, step: Step, bindings: Bindings): Promise<Failure | undefined> {
  let request = `${step.request.method} ${step.request.path}`;
  try {
    const sent = await send(session, step, bindings);
    request = sent.request;
    const differences = [
      ...compareAnswer(step.expect, sent.answer, bindings),
      ...(await tableDifferences(session, step)),
    ];
    return differences.length === 0 ? undefined : { request, differences };
  } catch (error) {
    return { request, differences: [{ place: 'request', expected: 'an answer', got: String(error) }] };
  }
}

async function replaySteps(session: Session, one: Case, bindings: Bindings): Promise<Failure | 'skipped' | undefined> {
  for (const step of one.steps) {
    const failure = await replayStep(session, step, bindings);
    if (failure) return step.expect.orSkip ? 'skipped' : failure;
  }
  return undefined;
}

/** After a failure the case is cleaned up as far as that goes; only then are failures of the cleanup not counted. */
async function cleanUp(session: Session, one: Case, bindings: Bindings): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  for (const step of one.cleanup) {
    const failure = await replayStep(session, step, bindings);
    if (failure) failures.push(failure);
  }
  return failures;
}

async function replayCase(session: Session, one: Case): Promise<Result> {
  const start = performance.now();
  const bindings: Bindings = new Map();
  session.snapshot = await session.options.observe?.();
  const failure = await replaySteps(session, one, bindings);
  const left = await cleanUp(session, one, bindings);
  const result = { case: one, milliseconds: performance.now() - start };
  if (failure === 'skipped') return { ...result, outcome: 'skipped', failures: [] };
  const failures = failure ? [failure] : left;
  return { ...result, outcome: failures.length > 0 ? 'failed' : 'passed', failures };
}

/** A replayer that keeps its connection open between cases. */
export interface Replayer {
  replay(one: Case): Promise<Result>;
  close(): void;
}

export function createReplayer(options: ReplayOptions): Replayer {
  const session: Session = { client: options.client ?? createClient(options.url), options, snapshot: undefined };
  return { replay: (one) => replayCase(session, one), close: () => session.client.close() };
}

export async function replay(cases: readonly Case[], options: ReplayOptions): Promise<Result[]> {
  const replayer = createReplayer(options);
  const results: Result[] = [];
  try {
    for (const one of cases) {
      if (options.stop?.()) break;
      const result = await replayer.replay(one);
      results.push(result);
      options.onProgress?.(result, results.length, cases.length);
    }
  } finally {
    replayer.close();
  }
  return results;
}
