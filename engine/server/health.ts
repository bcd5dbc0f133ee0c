/** What operators ask: does it live, is it ready, how does it do. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { render } from '../http/problems.ts';
import { Problem } from '../problem.ts';
import type { Metrics } from '../metrics.ts';

export interface Operated {
  /** undefined where the settings want none. */
  readonly metrics: Metrics | undefined;
  /** Rejects where records cannot be read. */
  ready(): Promise<void>;
  readonly isDraining: () => boolean;
  readonly measuring: (request: IncomingMessage) => Measuring;
}

/** Whether the client may see figures of every type; a stranger has no token that is known. */
export type Measuring = 'allowed' | 'withheld' | 'stranger';

interface EndpointAnswer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Endpoint = (operated: Operated, request: IncomingMessage) => Promise<EndpointAnswer>;

const MAX_WAIT_MS = 2000;

const endpoints: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ['/health/live', async () => ({ status: 200, text: 'live\n' })],
  ['/health/ready', readiness],
  [
    '/metrics',
    async ({ metrics, measuring }, request) => {
      if (metrics === undefined) return { status: 404, text: 'METRICS is off\n' };
      const found = measuring(request);
      return found === 'allowed'
        ? { status: 200, text: await metrics.text(), type: metrics.contentType }
        : refused(found);
    },
  ],
]);

const EVERY_TYPE = 'Figures need a token that may read every type';

function refused(measuring: 'withheld' | 'stranger'): EndpointAnswer {
  const problem =
    measuring === 'withheld'
      ? new Problem('forbidden', EVERY_TYPE)
      : new Problem('unauthorized', EVERY_TYPE, { headers: { 'WWW-Authenticate': 'Bearer' } });
  return said(problem, '/metrics');
}

function said(problem: Problem, path: string): EndpointAnswer {
  const { status, headers, body } = render(problem, path);
  return { status, headers, text: String(body) };
}

const refuseMethod: Endpoint = async (_, request) => {
  const message = `${request.method} is not offered here; GET, HEAD are`;
  return said(new Problem('method-not-allowed', message, { headers: { Allow: 'GET, HEAD' } }), pathOf(request));
};

async function readiness({ isDraining, ready }: Operated): Promise<EndpointAnswer> {
  if (isDraining()) return { status: 503, text: 'stopping\n' };
  const late = new Promise<never>((_, reject) => setTimeout(reject, MAX_WAIT_MS).unref());
  const reason = await Promise.race([ready(), late]).then(
    () => undefined,
    (error: unknown) => (error instanceof Problem ? error.message : 'the database does not answer'),
  );
  return reason === undefined ? { status: 200, text: 'ready\n' } : { status: 503, text: `${reason}\n` };
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

/** Whether it asks how the service is: that may be asked at any time, and as often as one likes. */
export function asksHealth(request: IncomingMessage): boolean {
  const path = pathOf(request);
  return path.startsWith('/health/') && endpoints.has(path);
}

/** Whether it was one of these that was asked for. */
export function answerOperator(operated: Operated, request: IncomingMessage, response: ServerResponse): boolean {
  const endpoint = endpoints.get(pathOf(request));
  if (endpoint === undefined) return false;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  void answer(isRead ? endpoint : refuseMethod, operated, request, response);
  return true;
}

const TEXT = 'text/plain; charset=utf-8';
const FAILED: EndpointAnswer = { status: 500, text: 'failed\n' };

async function answer(
  endpoint: Endpoint,
  operated: Operated,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, text, type = TEXT, headers } = await endpoint(operated, request).catch(() => FAILED);
  if (operated.isDraining()) response.shouldKeepAlive = false;
  const common = { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text), 'Cache-Control': 'no-store' };
  response.writeHead(status, { ...common, 'X-Content-Type-Options': 'nosniff', ...headers }).end(text);
}
