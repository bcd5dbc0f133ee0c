/** Pages of other origins (Fetch standard, CORS protocol): what they may send and see. Off where no origin is named. */
import type { IncomingMessage } from 'node:http';

/** Names and values in turn. */
type Headers = readonly string[];

export interface Cors {
  /** Whether answers differ by origin. */
  readonly varies: boolean;
  headersOf(request: IncomingMessage): Headers;
}

const NO_HEADERS: Headers = Object.freeze([]);

const EXPOSED = [
  'X-Total-Count',
  'Link',
  'ETag',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'WWW-Authenticate',
  'X-Request-Id',
];
const ALLOWED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const ALLOWED_HEADERS = [
  'Content-Type',
  'Authorization',
  'If-Match',
  'If-None-Match',
  'Idempotency-Key',
  'Prefer',
  'X-Request-Id',
];
/** Browsers ask again after this many seconds; some take no more. */
const MAX_AGE = 7200;

const EXPOSE: Headers = ['Access-Control-Expose-Headers', EXPOSED.join(', ')];
const PREFLIGHT: Headers = [
  'Access-Control-Allow-Methods',
  ALLOWED_METHODS.join(', '),
  'Access-Control-Allow-Headers',
  ALLOWED_HEADERS.join(', '),
  'Access-Control-Max-Age',
  String(MAX_AGE),
];

/** `*` among the origins is every one. */
export function createCors(origins: readonly string[]): Cors {
  const known = new Set(origins);
  const everyone = known.has('*');
  const headersOf = ({ headers, method }: IncomingMessage): Headers => {
    const { origin } = headers;
    if (origin === undefined || !(everyone || known.has(origin))) return NO_HEADERS;
    const asks = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    return ['Access-Control-Allow-Origin', everyone ? '*' : origin, ...(asks ? PREFLIGHT : EXPOSE)];
  };
  return { varies: known.size > 0 && !everyone, headersOf: known.size === 0 ? () => NO_HEADERS : headersOf };
}
