import { ask } from '../support/ask.ts';
import { runSql } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { startTestServer, useServer } from '../support/server.ts';

/** More than are counted where an estimate will do, on both databases. */
const ROWS = 200_000;
/** Rows whose size is 7, far apart, and those whose name is rare, at the end. */
const SEVENS = ROWS / 10;
const RARE = 5;

const server = useServer({ schemaDirectory: 'tests/fixtures/counts' });
beforeAll(async () => {
  const rows = (series: string): string =>
    ['stars (name, size)', 'comets (size)', 'atoms (size)']
      .map((table) => {
        const name = `case when value > ${ROWS - RARE} then 'rare' else 'star ' || value end, `;
        return `insert into ${table} select ${table.startsWith('stars') ? name : ''}value % 10 from ${series};`;
      })
      .join(' ');
  const series = `with recursive series(value) as (select 1 union all select value + 1 from series where value < ${ROWS})`;
  const sql =
    server.database.kind === 'sqlite'
      ? rows('series').replaceAll('insert', `${series} insert`)
      : `${rows(`generate_series(1, ${ROWS}) as value`)} analyze`;
  await runSql(server.database, sql);
});

async function listed(path: string, prefer?: string) {
  const { status, headers, text } = await exchange(
    server.url,
    `GET /api/${path}`,
    prefer === undefined ? {} : { headers: { prefer } },
  );
  expect(status).toBe(200);
  const total = headers['x-total-count'];
  return {
    total: total === undefined ? undefined : Number(total),
    applied: headers['preference-applied'],
    tag: headers.etag,
    link: String(headers['link']),
    shown: (JSON.parse(text) as unknown[]).length,
  };
}

const PAGE = '_cnd[limit]=0&_cnd[limit]=2';

it.each<[string, string | undefined, number | undefined, string | undefined]>([
  [`stars?${PAGE}`, undefined, ROWS, undefined],
  [`stars?${PAGE}`, 'count=exact', ROWS, 'count=exact'],
  [`stars?${PAGE}`, 'count=none', undefined, 'count=none'],
  [`stars?${PAGE}`, 'count=roughly', ROWS, undefined],
  [`stars?${PAGE}&_cnd[size]=7`, undefined, SEVENS, undefined],
  [`stars?${PAGE}&_cnd[name]=rare`, undefined, RARE, undefined],
  [`stars?${PAGE}&_cnd[name]=none`, undefined, 0, undefined],
  ['stars?_cnd[limit]=3&_cnd[limit]=2&_cnd[name]=rare', undefined, RARE, undefined],
  ['stars?_cnd[limit]=7&_cnd[limit]=2&_cnd[name]=rare', undefined, RARE, undefined],
  ['stars?_cnd[limit]=0&_cnd[limit]=0&_cnd[name]=rare', undefined, RARE, undefined],
  ['stars?_cnd[name]=rare', undefined, RARE, undefined],
  // What begins and ends on its page is known.
  ['stars?_cnd[limit]=0&_cnd[limit]=9&_cnd[name]=rare', 'count=estimated', RARE, 'count=estimated'],
  ['stars?_cnd[limit]=3&_cnd[limit]=9&_cnd[name]=rare', 'count=estimated', RARE, 'count=estimated'],
  [`comets?${PAGE}`, 'count=exact', ROWS, 'count=exact'],
  [`comets?${PAGE}`, 'count=none', undefined, 'count=none'],
  [`atoms?${PAGE}`, undefined, undefined, undefined],
  [`atoms?${PAGE}`, 'count=exact', ROWS, 'count=exact'],
])('GET /api/%s, Prefer: %s: %s', async (path, prefer, total, applied) => {
  expect(await listed(path, prefer)).toMatchObject({ total, applied });
});

it.each<[string, string | undefined, number]>([
  [`stars?${PAGE}`, 'count=estimated', ROWS],
  [`stars?${PAGE}&_cnd[size]=7`, 'count=estimated', SEVENS],
  [`stars?${PAGE}&_cnd[size][gte]=5`, 'count=estimated', ROWS / 2],
  [`comets?${PAGE}`, undefined, ROWS],
  [`comets?${PAGE}&_cnd[size]=7`, undefined, SEVENS],
])('GET /api/%s, Prefer: %s: about %i', async (path, prefer, about) => {
  const { total = 0, applied } = await listed(path, prefer);
  expect(applied).toBe('count=estimated');
  expect(total).toBeGreaterThan(about * 0.8);
  expect(total).toBeLessThan(about * 1.2);
});

it('an estimate is never less than what the page shows', async () => {
  const { total, shown } = await listed(`stars?_cnd[limit]=1&_cnd[limit]=2&_cnd[name]=rare`, 'count=estimated');
  expect(shown).toBe(2);
  expect(total).toBeGreaterThanOrEqual(4);
});

it.each(['count=exact', 'count=estimated', 'count=none'])('cursors: forth and back with %s', async (prefer) => {
  const linked = (link: string, rel: string): string =>
    new RegExp(`<([^>]+)>; rel="${rel}"`).exec(link)?.[1]?.replace('/api/', '') ?? '';
  const first = await listed(`stars?${PAGE}&_cnd[orderBy]=name`, prefer);
  const second = await listed(linked(first.link, 'next'), prefer);
  const back = await listed(linked(second.link, 'prev'), prefer);
  expect([second.shown, back.shown]).toEqual([2, 2]);
  if (prefer !== 'count=estimated') expect(second.total).toBe(first.total);
});

it('estimates a table whose identifiers lie in few places', async () => {
  await using sparse = await startTestServer({ schemaDirectory: 'tests/fixtures/nested' });
  const far = { id: 2 ** 52, name: 'far' };
  for (const body of [Array.from({ length: 20 }, () => ({ name: 'near' })), far])
    await ask(sparse.url, 'POST /api/things', body);
  const counted = async (filter: string): Promise<unknown> =>
    (
      await exchange(sparse.url, `GET /api/things?_cnd[limit]=0&_cnd[limit]=2${filter}`, {
        headers: { prefer: 'count=estimated' },
      })
    ).headers['x-total-count'];
  // PostgreSQL estimates from statistics, which a new table lacks.
  if (sparse.database.kind === 'postgres') await runSql(sparse.database, 'analyze');
  expect([await counted(''), await counted('&_cnd[name]=near')]).toEqual(['21', '20']);
});
