/** `records advise LOG`: the indexes that lists in a log would be faster with. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchange } from '../support/exchange.ts';
import { useProjects } from '../support/project.ts';

const newProject = useProjects();
const VISIT = 'type: Visit\nfields: { date: { type: string }, page: { type: string, index: true } }\n';
const PAGE = '_cnd[limit]=0&_cnd[limit]=20';

async function advise(lines: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const project = await newProject({ 'visit.yaml': VISIT });
  const records = Array.from({ length: 1000 }, (_, index) => ({ date: `day ${index % 97}`, page: `page ${index}` }));
  await project.serving(async (url) => {
    const headers = { 'content-type': 'application/json' };
    for (let round = 0; round < 3; round += 1)
      await exchange(url, 'POST /api/visits', { headers, body: JSON.stringify(records) });
  });
  const file = join(project.directory, 'access.log');
  writeFileSync(file, lines.join('\n'));
  return project.run('advise', file);
}

test('the log of a proxy with a list that is sorted without an index', async () => {
  const line = (target: string): string => `127.0.0.1 - - [22/Nov/2026] "GET ${target} HTTP/1.1" 200 1234`;
  const { code, out } = await advise([
    line(`/api/visits?_cnd%5BorderBy%5D=date&${PAGE}`),
    line(`/shop/api/visits?_cnd[orderBy]=date&fields=page&${PAGE}`),
    line('/api/visits?nonsense=1'),
    line('/api/visits/7?include='),
    line('/elsewhere?x=1'),
    line(`/api/visits?_cnd[page]=page 3&${PAGE}`),
  ]);
  expect({ code, out }).toEqual({ code: 2, out: expect.stringMatching(/^Visit: date: \{ index: true \}\n.*date/) });
});

test('a log without lists', async () => {
  expect(await advise(['', '{', 'GET /api/visits HTTP/1.1'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^No list/),
  });
});
