import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useProjects } from '../support/project.ts';

const newProject = useProjects();
const VISIT = `type: Visit
fields:
  date: { type: string }
  page: { type: string, index: true }
  browser: { type: string }
relations:
  shop: { kind: belongsTo, type: Shop }
`;
const SHOP = 'type: Shop\nfields: { name: { type: string } }\n';
const PAGE = '_cnd[limit]=0&_cnd[limit]=20';

const proxied = (target: string): string => `127.0.0.1 - - [22/Nov/2026] "GET ${target} HTTP/1.1" 200 1234`;
const slow = (query: string, more: object = {}): string =>
  JSON.stringify({
    level: 'warn',
    type: 'Visit',
    operation: 'list',
    requestId: 'a',
    query,
    milliseconds: 90,
    msg: 'slow statement',
    ...more,
  });

async function advise(lines: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const project = await newProject({ 'visit.yaml': VISIT, 'shop.yaml': SHOP });
  const file = join(project.directory, 'access.log');
  writeFileSync(file, lines.join('\n'));
  return project.run('advise', file);
}

const ONE = 'for 1 list in the log';

test.each<[string, readonly string[], string | undefined]>([
  [
    'a proxy: an order',
    [proxied(`/shop/api/visits?_cnd%5BorderBy%5D=date&fields=page&${PAGE}`)],
    `date: { index: true }\n  ${ONE}`,
  ],
  ['a proxy: a filter', [proxied('/api/visits?_cnd[browser]=Safari')], `browser: { index: true }\n  ${ONE}`],
  ['a proxy: a filter that has its index', [proxied(`/api/visits?_cnd[page]=page 3&${PAGE}`)], undefined],
  [
    'a proxy: a filter and an order',
    [proxied('/api/visits?_cnd[shop]=3&_cnd[orderBy]=date%20desc')],
    `indexes: [[shop, date]]\n  ${ONE}`,
  ],
  [
    'a proxy: what an index cannot help',
    [
      proxied('/api/visits?_cnd[date][like]=2*'),
      proxied('/api/visits?_cnd[shop]=3'),
      proxied('/api/visits?_cnd[orderBy]=date%20asc,page%20desc'),
    ],
    undefined,
  ],
  [
    'a proxy: no lists',
    ['', '{', proxied('/api/visits'), proxied('/api/visits/7?include='), proxied('/elsewhere?x=1')],
    undefined,
  ],
  [
    'the service: two statements of one list, and another list',
    [slow('_cnd[date]=…'), slow('_cnd[date]=…'), slow('_cnd[date]=…&include=', { requestId: 'b', milliseconds: 20 })],
    'date: { index: true }\n  for 2 lists in the log, 200 ms together',
  ],
  [
    'the service: any of several values',
    [slow('_cnd[date][in]=…&_cnd[date][in]=…')],
    `date: { index: true }\n  ${ONE}, 90 ms together`,
  ],
  [
    'the service: what is no list',
    [slow('_cnd[date]=…', { operation: 'get' }), slow('_cnd[date]=…', { msg: 'request' })],
    undefined,
  ],
])('%s', async (_, lines, advice) => {
  const { code, out } = await advise(lines);
  const says = advice === undefined ? 'No list in the log would be faster with another index.' : `Visit: ${advice}`;
  expect({ code, out: out.trim() }).toEqual({ code: advice === undefined ? 0 : 2, out: says });
});
