/** The compiled service starts, answers and stops, again and again, on the Node.js that runs this test: `npm run test:nightly -- starts`. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { exchange } from '../support/exchange.ts';

const STARTS = Number(process.env['STARTS'] ?? 5);

const compiled = useCompiled();
const directory = mkdtempSync(join(tmpdir(), 'starts-'));

it(
  `${STARTS} starts and stops on Node.js ${process.versions.node}`,
  async () => {
    const ends: unknown[] = [];
    for (let index = 0; index < STARTS; index += 1) {
      const environment = { PORT: '0', DATABASE_URL: `sqlite:${join(directory, 'records.db')}` };
      const running = compiled.run('server.js', [], environment);
      const { status } = await exchange(await urlOf(running), 'GET /api/tmp-vars');
      running.child.kill('SIGTERM');
      ends.push([status, await running.ended, running.child.signalCode]);
    }
    expect(ends).toEqual(Array.from({ length: STARTS }, () => [200, 0, null]));
  },
  STARTS * 30_000,
);

it.each(['server.js', 'engine/cli.js'])('%s on an older Node.js says what is needed', async (file) => {
  const older = join(directory, 'older.cjs');
  writeFileSync(older, `Object.defineProperty(process.versions, 'node', { value: '20.20.2' });`);
  const running = compiled.run(file, [], { NODE_OPTIONS: `--require ${older}` });
  expect(await running.ended).toBe(1);
  expect(running.err()).toMatch(/^The service needs Node\.js 22 or later, but this is 20\.20\.2\. .+\n$/);
});
