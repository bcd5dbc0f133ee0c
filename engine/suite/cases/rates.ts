/** How often a client may ask: it is told what is left, and then when to come again. */
import { collectionPath } from '../addresses.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { reading } from '../doors.ts';
import { step } from '../scenario.ts';

export const RATES = 'rates';

/** Nobody sends more requests than these for one answer. */
const MOST_REQUESTS = 3000;

export function rates(context: Context): readonly Case[] {
  const { rateLimit = Infinity } = context.deployment;
  const request = reading(context.type);
  if (request === undefined || rateLimit > MOST_REQUESTS) return [];
  const policy = { 'ratelimit-policy': `"minute";q=${rateLimit};w=60` };
  const title = `GET ${collectionPath(context.type)} more often than ${rateLimit} times in a minute`;
  return caseOf(context, RATES, title, (scenario) => {
    const faulty = { ...request, path: `${request.path}?noSuchParameter=1` };
    const left = { ...policy, ratelimit: '"minute";{left}' };
    step(scenario, faulty, { status: 400, headers: left, problem: { code: 'invalid-query' } });
    const spent = { ...policy, ratelimit: '"minute";r=0;t={reset:seconds}', 'retry-after': '{wait:seconds}' };
    const refused = { status: 429, headers: spent, problem: { code: 'rate-limited' } } as const;
    step(scenario, faulty, refused, [], { attempts: rateLimit + 1 });
  });
}
