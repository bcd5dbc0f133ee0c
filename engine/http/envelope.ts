/** The headers that every answer has, whatever it is about: as much of them as can be is decided at boot. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createCors } from './cors.ts';

export interface Envelope {
  readonly requestId: string;
  /** Names and values in turn, the form that Node writes fastest. */
  readonly headers: readonly string[];
}

export interface EnvelopeOptions {
  /** Origins whose pages may use the service. */
  readonly corsOrigins: readonly string[];
  /** Whether answers differ by token. */
  readonly guarded?: boolean;
}

/** Request headers that decide about answers. */
const VARY = ['Accept', 'Accept-Encoding', 'Prefer'];
/** An identifier of a request that may stand in a log. */
const SANE_ID = /^[\w.:/+=-]{1,128}$/;

export function createEnvelopes({
  corsOrigins,
  guarded = false,
}: EnvelopeOptions): (request: IncomingMessage) => Envelope {
  const cors = createCors(corsOrigins);
  // Caches ask again each time.
  const common = [
    'Cache-Control',
    'no-cache',
    'Vary',
    [...VARY, ...(guarded ? ['Authorization'] : []), ...(cors.varies ? ['Origin'] : [])].join(', '),
    // No browser takes an answer for something else than it says.
    'X-Content-Type-Options',
    'nosniff',
  ];
  return (request) => {
    const requestId = requestIdOf(request);
    return { requestId, headers: [...common, 'X-Request-Id', requestId, ...cors.headersOf(request)] };
  };
}

/** As the client gave it, where it may stand in a log; else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SANE_ID.test(given) ? given : newId();
}

/** No two processes have the same, and it costs a tenth of a UUID for each request. */
const PROCESS = randomBytes(9).toString('base64url');
let requests = 0;
const newId = (): string => `${PROCESS}-${(requests += 1)}`;
