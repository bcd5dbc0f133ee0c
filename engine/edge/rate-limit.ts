/** Limits the requests of each client per minute (draft-ietf-httpapi-ratelimit-headers). */
import type { IncomingMessage } from 'node:http';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from '../problem.ts';
import { workerNumber } from '../process.ts';

/** Returns the headers that say how many requests are left. Throws a Problem, `rate-limited`. */
export type RateLimit = (request: IncomingMessage) => Promise<Readonly<Record<string, string>>>;

const SECONDS = 60;

/** Clients that are counted at the same time: each takes about a kibibyte. */
const MAX_CLIENTS = 20_000;

/** `clientOf` names the client; each client has its own limit. Beyond so many, the one that has been silent longest is forgotten. */
export function createRateLimit(
  perMinute: number,
  clientOf: (request: IncomingMessage) => string,
  mostClients = MAX_CLIENTS,
): RateLimit {
  const limiter = createLimiter({ points: perMinute, duration: SECONDS });
  /** In the order of their last requests. */
  const known = new Set<string>();
  const counted = (client: string): string => {
    known.delete(client);
    known.add(client);
    if (known.size > mostClients) {
      const [longest = ''] = known;
      known.delete(longest);
      void limiter.delete(longest).catch(() => undefined);
    }
    return client;
  };
  const stateOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes): Readonly<Record<string, string>> => ({
    'RateLimit-Policy': `"minute";q=${perMinute};w=${SECONDS}`,
    RateLimit: `"minute";r=${Math.max(0, remainingPoints)};t=${Math.ceil(msBeforeNext / 1000)}`,
  });
  return async (request) => {
    try {
      return stateOf(await limiter.consume(counted(clientOf(request))));
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw uncounted(refused);
      throw tooMany(perMinute, stateOf(refused), refused.msBeforeNext);
    }
  };
}

/** Workers count together, in the process that started them. */
const createLimiter = (options: { readonly points: number; readonly duration: number }) =>
  workerNumber === undefined
    ? new RateLimiterMemory(options)
    : new RateLimiterCluster({ ...options, keyPrefix: 'records', timeoutMs: COUNT_TIMEOUT });

/** Milliseconds for that process to answer. */
const COUNT_TIMEOUT = 5000;

const uncounted = (cause: unknown): Problem =>
  new Problem('overloaded', 'The requests of this client could not be counted; try again in a second', { cause });

function tooMany(perMinute: number, state: Readonly<Record<string, string>>, milliseconds: number): Problem {
  const wait = Math.max(1, Math.ceil(milliseconds / 1000));
  return new Problem('rate-limited', `More than ${perMinute} requests in a minute; try again in ${wait} seconds`, {
    headers: state,
    retryAfter: wait,
  });
}
