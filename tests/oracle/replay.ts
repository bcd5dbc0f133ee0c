/** Sends the requests of cases to a service and reports where its answers differ from the expectations. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonValue } from '../../engine/json.ts';
import { type Bindings, fill, fillPath, fillText, writeJson, writeLines } from './template.ts';
import { type Case, type Condition, conditionsOf, type Request, type Sender, type Step } from './case.ts';
import { type ReceivedAnswer, type Client, createClient } from './client.ts';
import { compareAnswer, type Difference } from './compare.ts';

export interface Tokens {
  /** For requests that name no other sender. */
  readonly token?: string;
  /** May read everything and write nothing. */
  readonly readToken?: string;
}

interface SentStep {
  readonly answer: ReceivedAnswer;
  /** The request as a report shows it. */
  readonly request: string;
}

const MAX_TEXT = 2_000;

function textOf({ text, body, lines, padTo = 0 }: Request, bindings: Bindings): string | undefined {
  const filled = body === undefined ? undefined : fill(body, bindings);
  const write = (value: JsonValue): string => (lines === undefined ? writeJson(value) : writeLines(value, lines));
  const plain = text ?? (filled === undefined ? undefined : write(filled));
  return plain && plain + ' '.repeat(Math.max(0, padTo - Buffer.byteLength(plain)));
}

const TOKEN_OF: Readonly<Record<Sender, (tokens: Tokens) => string | undefined>> = {
  nobody: () => undefined,
  stranger: () => 'rec_which-nobody-gave-out',
  reader: ({ readToken }) => readToken,
};

function authorization({ as }: Request, tokens: Tokens): Readonly<Record<string, string>> {
  const token = as === undefined ? tokens.token : TOKEN_OF[as](tokens);
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** A rate limit starts anew after a minute; if a request is refused more often, there is another reason. */
const MAX_WAITS = 5;

/** Waits while the rate limit is used up, unless that is what the step is about. */
async function patiently(send: () => Promise<ReceivedAnswer>, { expect }: Step): Promise<ReceivedAnswer> {
  for (let waits = 0; ; waits += 1) {
    const answer = await send();
    const seconds = answer.status === 429 && expect.status !== 429 ? Number(answer.headers['retry-after']) : NaN;
    if (!(seconds > 0) || waits === MAX_WAITS) return answer;
    await sleep(seconds * 1000);
  }
}

async function sendStep(client: Client, tokens: Tokens, step: Step, bindings: Bindings): Promise<SentStep> {
  const { method, path, headers = {}, raw } = step.request;
  if (raw !== undefined) return { request: raw.slice(0, MAX_TEXT), answer: await client.sendRaw(raw) };
  const text = textOf(step.request, bindings);
  const filled = Object.entries(headers).map(([name, value]) => [name, fillText(value, bindings)] as const);
  const json = text === undefined ? {} : { 'content-type': 'application/json' };
  const sent = {
    method,
    path: fillPath(path, bindings),
    headers: { ...json, ...authorization(step.request, tokens), ...Object.fromEntries(filled) },
    text,
  };
  const shown = text === undefined ? '' : ` ${text.slice(0, MAX_TEXT).trimEnd()}`;
  return { request: `${method} ${sent.path}${shown}`, answer: await patiently(() => client.send(sent), step) };
}

/** By table: any text that differs when the rows differ. */
export type TableSnapshot = ReadonlyMap<string, string>;

/** Brings a condition about; the function that it returns ends it. */
export type Arrange = () => Promise<() => Promise<void>>;

export interface ReplayOptions extends Tokens {
  readonly url: string;
  /** The client to use, instead of a new one. */
  readonly client?: Client;
  /** Reads the database behind the service, so that `changes` can be checked. */
  readonly observe?: () => Promise<TableSnapshot>;
  /** Cases that need other conditions are skipped. */
  readonly conditions?: { readonly [C in Condition]?: Arrange };
  readonly onProgress?: (result: Result, done: number, all: number) => void;
  /** Called before each case; true ends the replay. */
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
  /** The database before the next step. */
  snapshot: TableSnapshot | undefined;
}

/** The tables whose rows changed since the last time, if that can be seen. */
async function changedSince(session: Session): Promise<string | undefined> {
  const before = session.snapshot;
  const after = await session.options.observe?.();
  session.snapshot = after;
  if (before === undefined || after === undefined) return undefined;
  return namesOf([...after.keys()].filter((table) => before.get(table) !== after.get(table)));
}

const namesOf = (tables: readonly string[]): string => tables.toSorted().join(', ') || 'none';

async function attempt(session: Session, step: Step, bindings: Bindings): Promise<Failure | undefined> {
  let request = `${step.request.method} ${step.request.path}`;
  try {
    const sent = await sendStep(session.client, session.options, step, bindings);
    request = sent.request;
    const differences = [...compareAnswer(step.expect, sent.answer, bindings)];
    const [got, expected] = [await changedSince(session), step.changes && namesOf(step.changes)];
    if (got !== undefined && expected !== undefined && got !== expected)
      differences.push({ place: 'changed tables', expected, got });
    return differences.length === 0 ? undefined : { request, differences };
  } catch (error) {
    return { request, differences: [{ place: 'request', expected: 'an answer', got: String(error) }] };
  }
}

/** Only an attempt that succeeds, or the last one, binds variables. */
async function replayStep(session: Session, step: Step, bindings: Bindings): Promise<Failure | undefined> {
  const end = step.given && (await session.options.conditions?.[step.given]?.());
  try {
    for (let left = step.attempts ?? 1; ; left -= 1) {
      const bound = new Map(bindings);
      const failure = await attempt(session, step, bound);
      if (failure && left > 1) continue;
      for (const [name, value] of bound) bindings.set(name, value);
      return failure;
    }
  } finally {
    await end?.();
  }
}

/** Whether every condition of the case can be brought about. */
const canReplay = ({ options: { conditions = {} } }: Session, one: Case): boolean =>
  conditionsOf(one).every((condition) => conditions[condition] !== undefined);

/** Cleans up as far as possible. The failures of that count only if the case itself has not failed. */
async function replayCase(session: Session, one: Case): Promise<Result> {
  if (!canReplay(session, one)) return { case: one, outcome: 'skipped', failures: [], milliseconds: 0 };
  const start = performance.now();
  const bindings: Bindings = new Map();
  const failures: Failure[] = [];
  let isSkipped = false;
  session.snapshot = await session.options.observe?.();
  for (const step of one.steps) {
    const failure = await replayStep(session, step, bindings);
    if (failure === undefined) continue;
    isSkipped = step.expect.orSkip === true;
    failures.push(failure);
    break;
  }
  const hasFailed = failures.length > 0;
  for (const step of one.cleanup) {
    const failure = await replayStep(session, step, bindings);
    if (failure && !hasFailed) failures.push(failure);
  }
  const result = { case: one, milliseconds: performance.now() - start };
  if (isSkipped) return { ...result, outcome: 'skipped', failures: [] };
  return { ...result, outcome: failures.length > 0 ? 'failed' : 'passed', failures };
}

/** Keeps its connection open between cases. */
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
