import { runSql } from '../support/databases.ts';
import { ask } from '../support/ask.ts';
import { exchange } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

type Value = string | number | boolean | null;
interface Row {
  readonly [name: string]: Value | Row;
}

const VALUES: Readonly<Record<string, readonly Value[]>> = {
  price: ['1.5', null, '1.50', '-0.000000001', '999999.999999999', '1.500', '-999999', '0.0'],
  amount: ['9999999999999.99', null, '-9999999999999.99', '0.01', '10', '10.0'],
  units: [9007199254740991, null, -9007199254740991, 0, 3],
  rate: [0.1, null, 1e21, -5, 1.5e-10, 1.5],
  title: ['', null, 'a', 'B', 'é', '\u{1F600}', '\uFFFD'],
  open: [true, null, false],
  sold_on: ['2024-02-29', null, '2024-02-01', '0001-01-01', '9999-12-31'],
  sold_at: [
    '2024-02-29T23:30:00Z',
    null,
    '2024-03-01T00:30:00Z',
    '2024-03-01T00:30:00.5Z',
    '2024-03-01T00:30:00.000001Z',
    '2023-12-31T10:00:00Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:30:00Z',
  ],
};
const TOWNS = ['x', null, 'y'] as const;
const FIELDS = Object.keys(VALUES);

const sales: Row[] = [];
const server = useServer({ schemaDirectory: 'tests/fixtures/summaries' });

beforeAll(async () => {
  const shops: Row[] = [];
  for (const [index, town] of TOWNS.entries()) {
    const { status } = await ask(server.url, 'POST /api/shops', { name: `shop ${index}`, town, rent: '1.00' });
    expect(status).toBe(201);
    shops.push({ shop_id: index + 1, name: `shop ${index}`, town });
  }
  for (let index = 0; index < 60; index += 1) {
    // Of each field another stride, so that most combinations occur.
    const values = FIELDS.map((name, place) => [
      name,
      VALUES[name]?.[Math.floor(index / (place + 1)) % VALUES[name].length] ?? null,
    ]);
    const shop = shops[(index * 7) % 4] ?? null;
    const body = { ...Object.fromEntries(values), shop };
    const { status, body: made } = await ask(server.url, 'POST /api/sales', {
      ...body,
      shop: shop && { shop_id: shop['shop_id'] },
    });
    expect({ status, made: status === 201 ? body : made }).toEqual({ status: 201, made: body });
    sales.push({ id: index + 1, ...body });
  }
  await fill(`insert into ticks (number, name, price) select value, substr('0123456789', 1 + value % 10, 1), `);
});

/** More records than one request may read on SQLite's own thread, and more groups than an answer may have. */
const TICKS = 25_000;

async function fill(insert: string, rows = TICKS): Promise<void> {
  const series = `with recursive series(value) as (select 1 union all select value + 1 from series where value < ${rows})`;
  const sql =
    server.database.kind === 'sqlite'
      ? `${series} ${insert} '0.10' from series`
      : `${insert} '0.10' from generate_series(1, ${rows}) as value`;
  await runSql(server.database, sql);
}

// What values are to each other.

// Keys and measures: what they are of a row, or of the rows of a group.

const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  exchange(server.url, `GET /api/${path}`, { headers });

describe('a summary of many records', () => {
  it.each([
    ['', [['', '25000']]],
    [
      '?by=name&measure=count,sum(price),min(number)&_cnd[limit]=0&_cnd[limit]=2',
      [
        ['0', '2500,"250.00",10'],
        ['1', '2500,"250.00",1'],
      ],
    ],
    ['?_cnd[number][lte]=3&measure=count,sum(price)', [['', '3,"0.30"']]],
  ])('%s', async (search, groups) => {
    const { status, text } = await get(`ticks/$summary${search}`);
    expect({ status, text }).toMatchObject({ status: 200 });
    const found = (JSON.parse(text) as { by: object; measures: object }[]).map(({ by, measures }) => [
      Object.values(by).join(),
      Object.values(measures)
        .map((value) => JSON.stringify(value))
        .join(),
    ]);
    expect(found).toEqual(groups);
  });

  it('has 10,000 groups at most', async () => {
    const { status, text } = await get('ticks/$summary?by=number');
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      type: 'urn:problem:too-many-groups',
      errors: [{ parameter: 'by', code: 'too-many', message: expect.stringMatching('10000 groups.*_cnd\\[limit\\]') }],
    });
    const { headers, text: page } = await get('ticks/$summary?by=number&_cnd[limit]=9999&_cnd[limit]=10000');
    expect(JSON.parse(page)).toHaveLength(10_000);
    expect(headers['x-total-count']).toBe('25000');
    const { headers: uncounted } = await get('ticks/$summary?by=number&_cnd[limit]=0&_cnd[limit]=1', {
      prefer: 'count=none',
    });
    expect(uncounted['x-total-count']).toBeUndefined();
    expect(uncounted['preference-applied']).toBe('count=none');
  });
});

describe('in other formats', () => {
  it.each([
    [
      'text/csv',
      'by=name&measure=count,max(price)&_cnd[name][lt]=2',
      'name,count,max(price)\r\n0,2500,0.10\r\n1,2500,0.10\r\n',
    ],
    ['text/csv', '_cnd[number]=1', 'count\r\n1\r\n'],
    [
      'application/x-ndjson',
      'by=name&measure=count&_cnd[number][lt]=3',
      '{"by":{"name":"1"},"measures":{"count":1}}\n{"by":{"name":"2"},"measures":{"count":1}}\n',
    ],
  ])('%s of %s', async (accept, search, text) => {
    expect(await get(`ticks/$summary?${search}`, { accept })).toMatchObject({ status: 200, text });
  });

  it('has no records in a table', async () => {
    const { status, text } = await get('sales/$summary?by=shop', { accept: 'text/csv' });
    expect({ status, errors: JSON.parse(text).errors }).toMatchObject({
      status: 400,
      errors: [{ parameter: 'by', code: 'relation-in-table' }],
    });
  });
});

it.each([
  ['by=titel', ['by unknown-field did you mean "title"']],
  ['by=shop.rent', ['by not-shown']],
  ['by=shop.owner.name,shop.nam', ['by unknown-field did you mean "name"']],
  ['by=extra', ['by not-groupable']],
  ['by=dai(sold_at)', ['by unknown-key did you mean "day"']],
  ['by=Month(sold_at)', ['by unknown-key did you mean "month"']],
  ['by=day(sold_at', ['by unknown-key did you mean "day"']],
  ['by=day()', ['by unknown-key did you mean "day"']],
  ['measure=sum', ['measure unknown-measure did you mean "sum"']],
  ['measure=Sum(price)', ['measure unknown-measure did you mean "sum"']],
  ['measure=count()', ['measure unknown-measure did you mean "count"']],
  ['measure=count(*)', ['measure unknown-measure did you mean "count"']],
  ['by=day(title)', ['by not-groupable']],
  ['by=title,', ['by malformed']],
  ['by=,title', ['by malformed']],
  ['by=title,title', ['by repeated']],
  ['by=id,title,open,units,rate,price,amount,sold_on,sold_at', ['by too-many']],
  ['by=title&by=open', ['by repeated']],
  [`by=id${',title'.repeat(500)}`, ['by too-many', 'by repeated']],
  ['measure=', ['measure unknown-measure']],
  ['measure=mean(price)', ['measure unknown-measure did you mean "min"']],
  ['measure=avg(title)', ['measure not-summable']],
  ['by=day(sold_at)&zone=Europa/Berlin', ['zone malformed']],
  ["by=day(sold_at)&zone=UTC'", ['zone malformed']],
  ['measure=cuont', ['measure unknown-measure did you mean "count"']],
  ['measure=summ(price)', ['measure unknown-measure did you mean "sum"']],
  ['measure=sum(title),sum(rate)', ['measure not-summable', 'measure not-summable']],
  ['measure=min(open),max(extra)', ['measure not-orderable', 'measure not-orderable']],
  ['measure=sum(shop.rent)', ['measure not-shown']],
  ['measure=count,count', ['measure repeated']],
  ['_cnd[orderBy]=title', ['_cnd[orderBy] unknown-field']],
  ['by=title&_cnd[orderBy]=titel', ['_cnd[orderBy] unknown-field did you mean "title"']],
  ['by=title&_cnd[orderBy]=title,dsc', ['_cnd[orderBy] unknown-field did you mean "desc"']],
  ['by=title&_cnd[orderBy]=title,UP', ['_cnd[orderBy] unknown-field']],
  ['by=title&_cnd[orderBy]=title&_cnd[orderBy]=title', ['_cnd[orderBy] repeated']],
  ['by=title&_cnd[limit]=0&_cnd[limit]=10001', ['_cnd[limit] limit-too-large']],
  ['by=title&after=x', ['after unknown-parameter']],
  ['fields=title', ['fields unknown-parameter']],
  ['measures=count', ['measures unknown-parameter did you mean "measure"']],
  ['_cnd[titel]=x', ['_cnd[titel] unknown-field did you mean "title"']],
])('GET /api/sales/$summary?%s is refused', async (search, faults) => {
  const { status, text } = await get(`sales/$summary?${search}`);
  const { errors } = JSON.parse(text) as { errors: { parameter: string; code: string; message: string }[] };
  const found = errors.map(({ parameter, code, message }) => {
    const hint = /did you mean "[^"]*"/.exec(message)?.[0];
    return [parameter, code, ...(hint === undefined ? [] : [hint])].join(' ');
  });
  expect({ status, found }).toEqual({ status: 400, found: faults });
});

it.each([
  ['GET /api/ticks/$summary?variant=short&measure=sum(price)', 400, 'not-in-variant'],
  ['GET /api/ticks/$summary?variant=short&by=number&_cnd[number]=1', 200, ''],
  ['GET /api/sales/%24summary', 200, ''],
  ['GET /api/sales/$sumary', 404, 'did you mean \\"/api/sales/$summary\\"'],
  ['GET /api/alarms/$summary', 404, 'path-not-found'],
  ['POST /api/sales/$summary', 405, 'GET, HEAD, OPTIONS'],
  ['OPTIONS /api/sales/$summary', 204, ''],
])('%s: %i %s', async (request, status, part) => {
  const answer = await exchange(server.url, request);
  expect(answer.status).toBe(status);
  expect(answer.text).toContain(part);
});

// The year 1 begins elsewhere in the year 0, and the year 9999 ends in the year 10000.
const CENTURIES = '_cnd[sold_at][gte]=1900-01-01T00:00:00Z&_cnd[sold_at][lt]=2100-01-01T00:00:00Z';

/** The local date of a point in time, in another way than the service finds it. */
function dateIn(text: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const parts = new Map(format.formatToParts(new Date(text)).map(({ type, value }) => [type, value]));
  return ['year', 'month', 'day'].map((name) => parts.get(name as 'year')).join('-');
}

/** ISO 8601: the week of the year that its Thursday is in. */
function weekOf(date: string): string {
  const thursday = new Date(`${date}T00:00:00Z`);
  thursday.setUTCDate(thursday.getUTCDate() + 4 - (thursday.getUTCDay() || 7));
  const [year, first] = [thursday.getUTCFullYear(), Date.UTC(thursday.getUTCFullYear(), 0, 1)];
  return `${year}-W${String(Math.floor((thursday.getTime() - first) / 604_800_000) + 1).padStart(2, '0')}`;
}

const PERIOD_OF: Readonly<Record<string, (date: string) => string>> = {
  day: (date) => date,
  week: weekOf,
  month: (date) => date.slice(0, 7),
  quarter: (date) => `${date.slice(0, 4)}-Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`,
  year: (date) => date.slice(0, 4),
};

describe.each([undefined, 'Europe/Berlin', 'America/New_York', 'asia/kathmandu', 'Pacific/Auckland'])(
  'periods in the zone %s',
  (zone) => {
    it.each(Object.keys(PERIOD_OF))('%s', async (period) => {
      const times = sales.map(({ sold_at: time }) => String(time)).filter((time) => /^(?:19|20)/.test(time));
      const dates = times.map((time) => PERIOD_OF[period]?.(dateIn(time, zone ?? 'UTC')) ?? '');
      const expected = [...Map.groupBy(dates, (date) => date)].map(([date, all]) => [date, all.length]);
      const search = `by=${period}(sold_at)&measure=count&${CENTURIES}${zone === undefined ? '' : `&zone=${zone}`}`;
      const { text } = await get(`sales/$summary?${search}`);
      const found = (JSON.parse(text) as { by: Row; measures: Row }[]).map(({ by, measures }) => [
        by[`${period}(sold_at)`],
        measures['count'],
      ]);
      expect(found).toEqual(expected.toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1)));
    });
  },
);

it('has the same periods of dates in every zone', async () => {
  const search = 'by=quarter(sold_on),week(sold_on)&_cnd[sold_on][gte]=2024-01-01&_cnd[sold_on][lt]=2025-01-01';
  const [utc, there] = await Promise.all(
    ['', '&zone=Pacific/Auckland'].map((zone) => get(`sales/$summary?${search}${zone}`)),
  );
  expect(there?.text).toBe(utc?.text);
  expect(utc?.text).toContain('{"quarter(sold_on)":"2024-Q1","week(sold_on)":"2024-W05"}');
});

it('has averages with six digits behind the point, rounded away from zero', async () => {
  const averageOf = (values: readonly (Value | Row | undefined)[]): string | null => {
    const units = values
      .filter((value) => value !== null)
      .map((value) => {
        const [whole = '', fraction = ''] = String(value).split('.');
        return BigInt(whole + fraction.padEnd(9, '0'));
      });
    if (units.length === 0) return null;
    const [sum, unit] = [units.reduce((a, b) => a + b, 0n), 1000n * BigInt(units.length)];
    const rounded = (((sum < 0n ? -sum : sum) * 2n + unit) / (unit * 2n)).toString().padStart(7, '0');
    const text = `${rounded.slice(0, -6)}.${rounded.slice(-6)}`.replace(/\.?0+$/, '');
    return sum < 0n && text !== '0' ? `-${text}` : text;
  };
  const { text } = await get(
    'sales/$summary?by=open&measure=avg(price),avg(units),avg(amount)&_cnd[orderBy]=avg(units)',
  );
  const groups = JSON.parse(text) as { by: Row; measures: Row }[];
  expect(groups).toHaveLength(3);
  for (const { by, measures } of groups) {
    const within = sales.filter(({ open }) => open === by['open']);
    for (const name of ['price', 'units', 'amount'])
      expect([name, measures[`avg(${name})`]]).toEqual([name, averageOf(within.map((sale) => sale[name]))]);
  }
  const units = groups.map(({ measures }) => Number(measures['avg(units)']));
  expect(units).toEqual(units.toSorted((a, b) => a - b));
});

describe('a sum', () => {
  const sumOf = async (measure: string): Promise<string> =>
    (await get(`ticks/$summary?measure=${measure}&_cnd[name]=sum`)).text;

  it('is exact beyond 64 bits', async () => {
    await fill(`insert into ticks (number, name, price) select 9007199254740991, 'sum', `, 1100);
    expect(await sumOf('sum(number)')).toContain(':9907919180215090100}');
    expect(await sumOf('sum(price)')).toContain('"110.00"');
  });

  it('has all digits of values that an instance with a wider field has written', async () => {
    // On PostgreSQL, no instance can write what the field does not take.
    if (server.database.kind !== 'sqlite') return;
    const prices = `('sum', '0.0005'), ('sum', '-3'), ('sum', null)`;
    await runSql(server.database, `insert into ticks (name, price) values ${prices}`);
    expect(await sumOf('sum(price)')).toContain('"107.0005"');
    expect(await sumOf('count(price)')).toContain(':1102}');
  });
});
