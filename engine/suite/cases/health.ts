/** What operators ask, and what a service says that is about to stop. */
import { collectionPath } from '../addresses.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { step } from '../scenario.ts';

const GROUP = 'health';

const [LIVE, READY] = ['/health/live', '/health/ready'];

function said(context: Context): Case[] {
  return caseOf(context, GROUP, `GET ${LIVE}, ${READY}`, (scenario) => {
    const headers = { 'cache-control': 'no-store' };
    step(scenario, { method: 'GET', path: LIVE }, { status: 200, headers, body: 'live\n' });
    step(scenario, { method: 'GET', path: READY }, { status: 200, headers, body: 'ready\n' });
    step(scenario, { method: 'HEAD', path: READY }, { status: 200, headers, empty: true });
    step(
      scenario,
      { method: 'POST', path: READY },
      { status: 405, headers: { allow: 'GET, HEAD' }, problem: { code: 'method-not-allowed' } },
    );
  });
}

/** Whoever sends requests here is told to send them elsewhere; those that come are answered, each as the last one. */
function stopping(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('list')) return [];
  return caseOf(context, GROUP, `GET ${READY}, ${collectionPath(type)}, service stopping`, (scenario) => {
    const last = { given: 'service stopping' } as const;
    const ready = { method: 'GET', path: READY };
    step(scenario, ready, { status: 503, body: 'stopping\n' }, [], last);
    const path = collectionPath(type, ['_cnd[limit][1]=0']);
    const expect = { status: 200, headers: { connection: 'close' }, body: [] };
    step(scenario, { method: 'GET', path }, expect, [], last);
  });
}

export const health = (context: Context): readonly Case[] =>
  context.deployment.direct ? [...said(context), ...stopping(context)] : [];
