/** `npm run bench` on both databases, with so few requests that its figures mean nothing. */
import { execFileSync } from 'node:child_process';
import { work } from '../../../bench/work.ts';

const BENCH = 'npm run --silent bench -- --json --rows 300 --rounds 1 --seconds 0.05 --connections 2'.split(' ');

test.each([
  ['sqlite', BENCH],
  ['postgres', ['.ci/postgres', 'with', ...BENCH, '--database', 'postgres']],
])('on %s', (_, [program = '', ...args]) => {
  const { figures } = JSON.parse(
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  expect(Object.keys(figures)).toEqual(work.map(({ name }) => name));
  for (const found of Object.values(figures))
    expect(found).toMatchObject({ engine: { cpu: expect.any(Number) }, fastify: { cpu: expect.any(Number) } });
});
