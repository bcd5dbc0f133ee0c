/** The name that a request has: its own, where that may stand in a log. */
import { collectionPath } from '../addresses.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { doors, withBody, withHeaders } from '../doors.ts';
import { step } from '../scenario.ts';

const GROUP = 'request ids';

const GOOD = ['of-the.suite:1', 'a/b+c=d_e', 'x'.repeat(128)] as const;
const BAD = ['two words', '"quoted"', 'x'.repeat(129)] as const;

export function requestIds(context: Context): readonly Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `${collectionPath(type)} X-Request-Id`, (scenario) => {
    for (const door of doors(type)) {
      const faulty = withBody({ ...door, path: `${door.path}?noSuchParameter=1` });
      const named = (sent: string, answered: string): void => {
        const headers = { 'x-request-id': answered };
        const request = withHeaders(faulty, { 'x-request-id': sent });
        step(scenario, request, { status: 400, headers, problem: { code: 'invalid-query' } });
      };
      for (const name of GOOD) named(name, name);
      for (const name of BAD) named(name, '{*}');
    }
  });
}
