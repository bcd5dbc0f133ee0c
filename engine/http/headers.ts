/** The headers of every answer, identifiers of requests, and CORS. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

export type HeaderMap = Readonly<Record<string, string>>;

export function setHeaders(response: ServerResponse, headers: HeaderMap): void {
  if (response.headersSent) return;
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
}

/** No page shows or loads what is for programs, and none of it runs. */
export const UNEMBEDDED = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

/** Caches ask again each time, and browsers do not guess another media type. */
const COMMON = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', ...UNEMBEDDED };

/** Returns a function that sets them. `guarded`: requests need a token, and answers differ by it. */
export function createHead(cors: Cors, guarded: boolean): (request: IncomingMessage, response: ServerResponse) => void {
  const own = ['Accept', 'Accept-Encoding', 'Prefer'];
  const vary = [...own, ...(guarded ? ['Authorization'] : []), ...(cors.varies ? ['Origin'] : [])].join(', ');
  return (request, response) => {
    // A host application has begun an answer of its own.
    if (response.headersSent) return;
    // Middleware in front may have set it.
    const before = response.getHeader('Vary');
    setHeaders(response, COMMON);
    response.setHeader('Vary', before === undefined ? vary : `${String(before)}, ${vary}`);
    response.setHeader('X-Request-Id', requestIdOf(request, response));
    cors.apply(request, response);
  };
}

/** A request identifier that is safe to log. */
const SAFE_ID = /^[\w.:/+=-]{1,128}$/;

/** The client's own identifier if it is safe to log, else a new one. */
export function requestIdOf({ headers }: IncomingMessage, response: ServerResponse): string {
  const known = response.getHeader('X-Request-Id');
  if (typeof known === 'string') return known;
  const given = headers['x-request-id'];
  const id = typeof given === 'string' && SAFE_ID.test(given) ? given : randomUUID();
  if (!response.headersSent) response.setHeader('X-Request-Id', id);
  return id;
}

// CORS (Fetch standard). Off unless the settings name an origin.

export interface Cors {
  /** Whether pages of this origin may read what the service answers. */
  allows(origin: string): boolean;
  /** Whether answers differ by origin. */
  readonly varies: boolean;
  /** Sets the headers that allow it. */
  apply(request: IncomingMessage, response: ServerResponse): void;
}

const EXPOSE: HeaderMap = {
  'Access-Control-Expose-Headers':
    'X-Total-Count, Content-Range, Link, ETag, Location, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, X-Position',
};
const PREFLIGHT: HeaderMap = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  // The last three are those of agents.
  'Access-Control-Allow-Headers':
    'Content-Type, Authorization, If-Match, If-None-Match, Idempotency-Key, Prefer, Range, X-Request-Id, X-Position, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
  // Seconds after which browsers ask again; some allow no longer time.
  'Access-Control-Max-Age': '7200',
};

/** `*` among the origins allows every origin. */
export function createCors(origins: readonly string[]): Cors {
  const everyone = origins.includes('*');
  const allows = (origin: string): boolean => everyone || origins.includes(origin);
  return {
    allows,
    varies: origins.length > 0 && !everyone,
    apply: ({ headers, method }, response) => {
      const { origin } = headers;
      if (origin === undefined || !allows(origin)) return;
      response.setHeader('Access-Control-Allow-Origin', everyone ? '*' : origin);
      response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
      const asks = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      setHeaders(response, asks ? PREFLIGHT : EXPOSE);
    },
  };
}
