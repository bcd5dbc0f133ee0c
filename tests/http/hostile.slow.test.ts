/** Thousands of hostile requests, fewer on a server: none is answered with a 5xx, and the records are in order afterwards. */
import * as http from 'node:http';
import { databaseKind } from '../support/databases.ts';
import { type HostileRequest, hostileRequest } from '../support/hostile-request.ts';
import { loadModel } from '../support/model.ts';
import { type Bench, openBench } from '../support/replaying.ts';
import { drawn, isWhole } from '../support/sample.ts';
import fc from '../support/fast-check.ts';

/** `SEED=7 RUNS=100000 npx jest tests/http/hostile` draws other requests, and more of them. */
const onServer = isWhole ? 1_500 : 300;
const numRuns = databaseKind === 'sqlite' ? drawn(3_000) : onServer;

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const model = loadModel('tests/fixtures/store');
let bench: Bench;

beforeAll(async () => void (bench = await openBench('tests/fixtures/store', model)));
afterAll(async () => {
  agent.destroy();
  await bench?.close();
});

/** What Node's client says of a connection that the service closed after it had answered, or while the body was sent. */
const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

function statusOf({ method, path, headers, body }: HostileRequest): Promise<number | string> {
  const { hostname, port } = new URL(bench.server.url);
  return new Promise((resolve) => {
    const length = body === undefined ? {} : { 'content-length': String(body.length) };
    const request = http.request(
      { agent, hostname, port, method, path, headers: { ...headers, ...length } },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', (error) => resolve(error.message));
      },
    );
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    request.end(body);
  });
}

describe('hostile requests', () => {
  const counts = new Map<number | string, number>();

  it(
    `see no 5xx, ${numRuns} of them`,
    async () => {
      const property = fc.asyncProperty(hostileRequest(model), async (request) => {
        const status = await statusOf(request);
        counts.set(status, (counts.get(status) ?? 0) + 1);
        const fine = typeof status === 'number' ? status >= 200 && status < 500 : CLOSED.has(status);
        if (!fine)
          throw new Error(
            `${status} for ${request.method} ${request.path}\n${request.body?.toString().slice(0, 2_000)}`,
          );
      });
      await fc.assert(property, { numRuns });
    },
    Math.max(300_000, numRuns * 10),
  );

  it('were accepted about as often as they were refused', () => {
    if (numRuns > 10_000) console.info([...counts].map(([status, count]) => `${status}: ${count}`).join(', '));
    const all = [...counts.entries()].filter(([status]) => typeof status === 'number');
    const accepted = all.filter(([status]) => Number(status) < 300).reduce((sum, [, count]) => sum + count, 0);
    expect(accepted).toBeGreaterThan(numRuns / 50);
    expect(new Set(all.map(([status]) => status))).toEqual(
      new Set([...all.map(([status]) => status), 200, 201, 400, 404, 405, 422]),
    );
  });

  it('leave no dangling reference', async () => {
    expect(await bench.observer.danglingRows()).toEqual([]);
  });
});
