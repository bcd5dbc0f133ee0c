/** The headers of every answer, decided at boot as far as possible. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Envelope {
  readonly requestId: string;
  /** Names and values in turn, the form that Node writes fastest. */
  readonly headers: readonly string[];
}

export interface EnvelopeOptions {
  /** Origins whose pages may use the service. */
  readonly corsOrigins: readonly string[];
  /** Whether requests need a token, and answers differ by it. */
  readonly guarded: boolean;
}

/** Request headers that answers depend on. */
const VARY = ['Accept', 'Accept-Encoding', 'Prefer'];
/** A request identifier that is safe to log. */
const SANE_ID = /^[\w.:/+=-]{1,128}$/;

export function createEnvelopes({ corsOrigins, guarded }: EnvelopeOptions): (request: IncomingMessage) => Envelope {
  const cors = createCors(corsOrigins);
  // Caches ask again each time.
  const common = [
    'Cache-Control',
    'no-cache',
    'Vary',
    [...VARY, ...(guarded ? ['Authorization'] : []), ...(cors.varies ? ['Origin'] : [])].join(', '),
    // Browsers do not guess another media type.
    'X-Content-Type-Options',
    'nosniff',
  ];
  return (request) => {
    const requestId = requestIdOf(request);
    return { requestId, headers: [...common, 'X-Request-Id', requestId, ...cors.headersOf(request)] };
  };
}

/** The client's own identifier if it is safe to log, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SANE_ID.test(given) ? given : newId();
}

/** Unique for each process; an identifier made from it costs a tenth of a UUID. */
const PROCESS = randomBytes(9).toString('base64url');
let requests = 0;
const newId = (): string => `${PROCESS}-${(requests += 1)}`;

// What pages of other origins may send and see (Fetch standard, CORS protocol). Off unless the settings name an origin.

/** Names and values in turn. */
type HeaderLines = readonly string[];

interface Cors {
  /** Whether answers differ by origin. */
  readonly varies: boolean;
  headersOf(request: IncomingMessage): HeaderLines;
}

const NO_HEADERS: HeaderLines = Object.freeze([]);

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
/** Seconds after which browsers ask again; some allow no longer time. */
const MAX_AGE = 7200;

const EXPOSE: HeaderLines = ['Access-Control-Expose-Headers', EXPOSED.join(', ')];
const PREFLIGHT: HeaderLines = [
  'Access-Control-Allow-Methods',
  ALLOWED_METHODS.join(', '),
  'Access-Control-Allow-Headers',
  ALLOWED_HEADERS.join(', '),
  'Access-Control-Max-Age',
  String(MAX_AGE),
];

/** `*` among the origins allows every origin. */
function createCors(origins: readonly string[]): Cors {
  const known = new Set(origins);
  const everyone = known.has('*');
  const headersOf = ({ headers, method }: IncomingMessage): HeaderLines => {
    const { origin } = headers;
    if (origin === undefined || !(everyone || known.has(origin))) return NO_HEADERS;
    const asks = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    return ['Access-Control-Allow-Origin', everyone ? '*' : origin, ...(asks ? PREFLIGHT : EXPOSE)];
  };
  return { varies: known.size > 0 && !everyone, headersOf: known.size === 0 ? () => NO_HEADERS : headersOf };
}
