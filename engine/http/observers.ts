/** Log lines and metrics of requests and of their statements. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressOf } from '../edge/admission.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { ProblemCode } from '../problem.ts';
import type { Settings } from '../settings/settings.ts';
import type { OnStatement } from '../storage/database.ts';
import { fullPath, requestIdOf, targetOf } from './request.ts';
import type { Label } from './routes.ts';

export interface Watched {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** The address of the client, read before the connection closes. */
  readonly address: string;
  label: Label | undefined;
  /** The code of the problem that is the response. */
  problem?: ProblemCode | undefined;
}

/** Runs the work of a request; logs and counts it when its response closes. */
export type Watch = (
  request: IncomingMessage,
  response: ServerResponse,
  work: (watched: Watched | undefined) => void,
) => void;

interface ObserverOptions {
  readonly log: Log;
  readonly metrics: Metrics | undefined;
  readonly addressOf: AddressOf;
  /** The name of the client's token. */
  readonly nameOf: (request: IncomingMessage) => string | undefined;
}

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** `watch` and `onStatement` are undefined if neither log nor metrics need them. */
export function createObservers(
  { accessLog, slowStatement }: Pick<Settings, 'accessLog' | 'slowStatement'>,
  { log, metrics, addressOf, nameOf }: ObserverOptions,
): { readonly watch: Watch | undefined; readonly onStatement: OnStatement | undefined } {
  const fieldsOf = ({ request, requestId, address, label }: Watched): object => {
    const trace = String(request.headers['traceparent'] ?? '');
    const traceparent = TRACEPARENT.test(trace) ? trace : undefined;
    return { ...label, requestId, token: nameOf(request), address, traceparent };
  };

  function observe(watched: Watched, response: ServerResponse): void {
    const { request } = watched;
    const started = performance.now();
    // Mounted routers strip the path while they run. The query string may contain values of records.
    const path = fullPath(targetOf(request));
    response.once('close', () => {
      const { statusCode: status, writableFinished } = response;
      const milliseconds = performance.now() - started;
      metrics?.observe({ label: watched.label, status, problem: watched.problem, milliseconds });
      if (!accessLog) return;
      const { method = '' } = request;
      const answer = { method, path, status, aborted: !writableFinished, problem: watched.problem };
      const rounded = Math.round(milliseconds * 1000) / 1000;
      log.info({ ...answer, ...fieldsOf(watched), milliseconds: rounded }, 'request');
    });
  }

  const isSlowLogged = slowStatement !== Infinity;
  const current = new AsyncLocalStorage<Watched>();
  const onStatement: OnStatement = (sql, milliseconds) => {
    metrics?.statement(milliseconds);
    if (milliseconds < slowStatement) return;
    const watched = current.getStore();
    const who = watched && fieldsOf(watched);
    // The statement has placeholders instead of values.
    log.warn({ ...who, sql, milliseconds: Math.round(milliseconds) }, 'slow statement');
  };

  const watch: Watch = (request, response, work) => {
    const requestId = requestIdOf(request, response);
    const watched: Watched = { request, requestId, address: addressOf(request), label: undefined };
    if (accessLog || metrics) observe(watched, response);
    if (isSlowLogged) current.run(watched, () => work(watched));
    else work(watched);
  };

  return {
    onStatement: isSlowLogged || metrics ? onStatement : undefined,
    watch: accessLog || metrics || isSlowLogged ? watch : undefined,
  };
}
