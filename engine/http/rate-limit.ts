/** How many requests a client may send in a minute (draft-ietf-httpapi-ratelimit-headers). */
import type { IncomingMessage } from 'node:http';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from '../problem.ts';

/** Returns the headers that say how many requests are left. Throws a Problem, `rate-limited`. */
export type RateLimit = (request: IncomingMessage) => Promise<readonly string[]>;

const SECONDS = 60;

/** `clientOf` names the client; each client has its own limit. */
export function createRateLimit(perMinute: number, clientOf: (request: IncomingMessage) => string): RateLimit {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: SECONDS });
  const policy = ['RateLimit-Policy', `"minute";q=${perMinute};w=${SECONDS}`];
  const stateOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes): string[] => [
    ...policy,
    'RateLimit',
    `"minute";r=${Math.max(0, remainingPoints)};t=${Math.ceil(msBeforeNext / 1000)}`,
  ];
  return async (request) => {
    try {
      return stateOf(await limiter.consume(clientOf(request)));
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      throw tooMany(perMinute, stateOf(refused), refused.msBeforeNext);
    }
  };
}

function tooMany(perMinute: number, lines: readonly string[], milliseconds: number): Problem {
  const state = Object.fromEntries(lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1] ?? '']] : [])));
  const wait = Math.max(1, Math.ceil(milliseconds / 1000));
  return new Problem('rate-limited', `More than ${perMinute} requests in a minute; try again in ${wait} seconds`, {
    headers: state,
    retryAfter: wait,
  });
}
