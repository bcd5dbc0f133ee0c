/** Log lines and metrics of requests and of their statements. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { ProblemCode } from '../problem.ts';
import type { OnStatement } from '../storage/database.ts';
import { problemAnswered } from './problems.ts';
import { fullPath, targetOf } from './request.ts';

/** Which operation of which type. */
export interface Label {
  readonly type: string;
  readonly operation: string;
}

/** Identifies a request in the lines of the log that belong to it. */
export interface AskedFor {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** The address of the client: not known any more once the connection is closed. */
  readonly address: string;
  /** Once the operation is known. */
  label: Label | undefined;
}

export interface Observed {
  readonly method: string;
  /** Without the query string, which may hold values of records. */
  readonly path: string;
  readonly status: number;
  /** Whether the client left before the end. */
  readonly aborted: boolean;
  readonly milliseconds: number;
  /** undefined if no operation was found. */
  readonly label: Label | undefined;
  /** The code of the problem that it was answered with. */
  readonly problem: ProblemCode | undefined;
}

export type Observe = (observed: Observed, asked: AskedFor) => void;

export function watchRequest(asked: AskedFor, response: ServerResponse, observe: Observe): void {
  const { request } = asked;
  const started = performance.now();
  // Mounted routers strip the path while they run.
  const path = fullPath(targetOf(request));
  response.once('close', () => {
    const observed = {
      method: request.method ?? '',
      path,
      status: response.statusCode,
      aborted: !response.writableFinished,
      milliseconds: performance.now() - started,
      label: asked.label,
      problem: problemAnswered(request),
    };
    observe(observed, asked);
  });
}

/** Finds the name of the token of a request. */
type NameOf = (request: IncomingMessage) => string | undefined;

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** Fields that are undefined are left out of the log. */
function fieldsOf({ request, requestId, address, label }: AskedFor, nameOf: NameOf): object {
  const trace = String(request.headers['traceparent'] ?? '');
  const traceparent = TRACEPARENT.test(trace) ? trace : undefined;
  return { ...label, requestId, token: nameOf(request), address, traceparent };
}

interface ObserverOptions {
  readonly accessLog: boolean;
  /** Milliseconds from which on a statement is logged; Infinity for none. */
  readonly slowStatement: number;
}

interface Observers {
  /** Called for each request when it is over. */
  readonly observe: Observe | undefined;
  readonly onStatement: OnStatement | undefined;
  /** Runs the work of a request so that the log of slow statements knows the request. */
  readonly within: ((asked: AskedFor, work: () => void) => void) | undefined;
}

/** Each is undefined if neither log nor metrics need it. */
export function createObservers(
  { accessLog, slowStatement }: ObserverOptions,
  log: Log,
  metrics: Metrics | undefined,
  nameOf: NameOf,
): Observers {
  const observe: Observe = (observed, asked) => {
    metrics?.observe(observed);
    const { label: _, milliseconds, ...fields } = observed;
    const took = { milliseconds: Math.round(milliseconds * 1000) / 1000 };
    log.info({ ...fields, ...fieldsOf(asked, nameOf), ...took }, 'request');
  };
  const current = new AsyncLocalStorage<AskedFor>();
  const onStatement: OnStatement = (sql, milliseconds) => {
    metrics?.statement(milliseconds);
    if (milliseconds < slowStatement) return;
    const asked = current.getStore();
    const who = asked && { ...fieldsOf(asked, nameOf), query: shownQuery(targetOf(asked.request).query) };
    // The statement has placeholders instead of values.
    log.warn({ ...who, sql, milliseconds: Math.round(milliseconds) }, 'slow statement');
  };
  const isLogged = slowStatement !== Infinity;
  return {
    observe: accessLog ? observe : metrics?.observe,
    onStatement: isLogged || metrics ? onStatement : undefined,
    within: isLogged ? (asked, work) => current.run(asked, work) : undefined,
  };
}

/** Characters of a query string in the log. */
const MAX_SHOWN = 1000;
const WITH_NAMES = /^(_cnd\[orderBy\]|include$|fields$)/;
const NAMES = /^[\p{L}\p{N}_.,\s-]*$/u;

/** The query string without values of records: names, operators and the order stay. undefined if there is none. */
function shownQuery(search: string): string | undefined {
  if (search === '') return undefined;
  const shown = [...new URLSearchParams(search)].map(
    ([key, value]) => `${key}=${WITH_NAMES.test(key) && NAMES.test(value) ? value : '…'}`,
  );
  return shown.join('&').slice(0, MAX_SHOWN);
}
