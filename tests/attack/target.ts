/** What is attacked: the service with the descriptors of this deployment, a record of each type, and figures of all that it answers. */
import type { Settings } from '../../engine/settings/settings.ts';
import { creationExample } from '../../engine/openapi/examples.ts';
import { exchange } from '../support/exchange.ts';
import { loadModel } from '../support/model.ts';
import { createObserver } from '../support/observer.ts';
import { startTestServer } from '../support/server.ts';

export const model = loadModel('tests/fixtures/store');
export const JSON_BODY = { 'content-type': 'application/json' };

export interface Target {
  readonly url: string;
  /** How many requests were answered with which status, by the service's own count. */
  answered(): Promise<ReadonlyMap<number, number>>;
  /** Rows that refer to nothing. */
  dangling(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

export async function openTarget(
  settings: Partial<Settings> = {},
  schemaDirectory = 'tests/fixtures/store',
): Promise<Target> {
  const server = await startTestServer({ schemaDirectory, settings: { metrics: true, ...settings } });
  const own = loadModel(schemaDirectory);
  const observer = await createObserver(server.database, own);
  for (const type of own.types.values()) {
    const body = JSON.stringify(creationExample(type));
    if (type.operations.has('create'))
      await exchange(server.url, `POST /api/${type.path}`, { headers: JSON_BODY, body });
  }
  return {
    url: server.url,
    answered: async () => countsIn((await exchange(server.url, 'GET /metrics')).text),
    dangling: () => observer.danglingRows(),
    close: async () => {
      await observer.close();
      await server.close();
    },
  };
}

function countsIn(metrics: string): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const [, status, count] of metrics.matchAll(/^records_http_requests_total\{.*status="(\d+)"\} (\d+)$/gm))
    counts.set(Number(status), (counts.get(Number(status)) ?? 0) + Number(count));
  return counts;
}

/** No 5xx but those that the attack may cause, by the service's own count, and the records are in order. */
export async function expectUnhurt(target: Target, allowed: readonly number[] = []): Promise<void> {
  const counts = await target.answered();
  expect([...counts].filter(([status]) => status >= 500 && !allowed.includes(status))).toEqual([]);
  expect(await target.dangling()).toEqual([]);
  console.info([...counts].map(([status, count]) => `${status}: ${count}`).join(', '));
}
