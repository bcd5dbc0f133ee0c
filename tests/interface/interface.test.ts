/** The running service against the published interface, which stands in tests/interface by hand. */
import { DECIMALS, LENGTHS, REFUSED, UNIQUE, UNIQUE_OR_NULL } from './facts.ts';
import { SAMPLES } from './samples.ts';
import { includePaths, misfits } from './shape.ts';
import { answered, NOTIFICATION_VARIANTS, RESOURCES } from './specification.ts';
import { ask as askAt } from '../support/ask.ts';
import { startTestServer } from '../support/server.ts';

type Answered = Record<string, unknown>;

let server: Awaited<ReturnType<typeof startTestServer>>;
let taxClass: number;

const ask = (request: string, body?: unknown) => askAt(server.url, request, body);

async function answer(request: string, status: number, body?: unknown): Promise<Answered> {
  const got = await ask(request, body);
  expect({ request, status: got.status, body: got.status === status ? undefined : got.body }).toEqual({
    request,
    status,
    body: undefined,
  });
  return got.body as Answered;
}

async function list(request: string): Promise<readonly Answered[]> {
  const records: unknown = await answer(request, 200);
  if (!Array.isArray(records)) throw new TypeError(`${request} answers no array`);
  return records;
}

beforeAll(async () => {
  server = await startTestServer();
  const whole = { position: 1, providerOneVATRate: '7.00', providerTwoVATRate: 700 };
  taxClass = Number((await answer('POST /api/tax-classes', 201, whole))['id']);
});

afterAll(() => server.close());

const types = Object.entries(SAMPLES).map(([type, sample]) => {
  const { path, identifier } = RESOURCES[type] ?? { path: '', identifier: '' };
  return { type, path, identifier, sample, deep: `?include=${includePaths(sample.include).join(',')}` };
});

let count = 0;
const body = (sample: (typeof types)[number]['sample']) => sample.full(++count, taxClass);

describe.each(types)('$path', ({ type, path, identifier, sample, deep }) => {
  test(`POST ${path} answers the smallest record with every default`, async () => {
    const record = await answer(`POST ${path}`, 201, sample.smallest);
    expect(record).toEqual({ [identifier]: record[identifier], ...sample.defaults });
  });

  test(`POST ${path} keeps every field and every nested object`, async () => {
    const sent = body(sample);
    const record = await answer(`POST ${path}${deep}`, 201, sent);
    expect(misfits(type, record, sample.include)).toEqual([]);
    expect(record).toMatchObject(sent);
    expect(await answer(`GET ${path}/${record[identifier]}${deep}`, 200)).toEqual(record);
  });

  test(`GET ${path}/{id} shows related records one level deep`, async () => {
    const { [identifier]: id } = await answer(`POST ${path}`, 201, body(sample));
    const oneLevel = Object.fromEntries(Object.keys(sample.include).map((name) => [name, {}]));
    expect(misfits(type, await answer(`GET ${path}/${id}`, 200), oneLevel)).toEqual([]);
  });

  test(`PUT ${path}/{id} changes what it is given and nothing else`, async () => {
    const before = await answer(`POST ${path}`, 201, body(sample));
    const after = await answer(`PUT ${path}/${before[identifier]}`, 200, sample.change);
    expect(after).toEqual({ ...before, ...sample.change });
    expect(await answer(`GET ${path}/${before[identifier]}`, 200)).toEqual(after);
  });

  test(`PUT ${path}/{id} takes back what GET answers`, async () => {
    const before = await answer(`POST ${path}${deep}`, 201, body(sample));
    expect(await answer(`PUT ${path}/${before[identifier]}${deep}`, 200, before)).toEqual(before);
  });

  test(`DELETE ${path}/{id} answers the record as it was`, async () => {
    const before = await answer(`POST ${path}`, 201, body(sample));
    expect(await answer(`DELETE ${path}/${before[identifier]}`, 200)).toEqual(before);
    await answer(`GET ${path}/${before[identifier]}`, 404);
  });
});

describe.each(Object.values(RESOURCES))('GET $path', ({ path, identifier }) => {
  let all: readonly unknown[];

  beforeAll(async () => {
    const sample = types.find((candidate) => candidate.path === path)?.sample;
    if (sample) for (const _ of [1, 2, 3, 4]) await answer(`POST ${path}`, 201, body(sample));
    all = (await list(`GET ${path}?_cnd[orderBy]=${identifier}`)).map((record) => record[identifier]);
  });

  test('answers every record', async () => {
    expect(all.length).toBeGreaterThanOrEqual(4);
    expect(all).toEqual([...all].map(Number).toSorted((a, b) => a - b));
  });

  test.each([
    '_cnd[limit]=1&_cnd[limit]=2',
    '_cnd[limit][]=1&_cnd[limit][]=2',
    '_cnd[limit][0]=1&_cnd[limit][1]=2',
    '_cnd%5Blimit%5D=1&_cnd%5Blimit%5D=2',
  ])('?%s takes offset and limit', async (limit) => {
    const page = await list(`GET ${path}?${limit}&_cnd[orderBy]=${identifier}`);
    expect(page.map((record) => record[identifier])).toEqual(all.slice(1, 3));
  });

  test.each([
    '_cnd[orderBy]=ID&_cnd[orderBy]=desc',
    '_cnd[orderBy][]=ID&_cnd[orderBy][]=desc',
    '_cnd[orderBy][0]=ID&_cnd[orderBy][1]=desc',
    '_cnd%5BorderBy%5D=ID&_cnd%5BorderBy%5D=DESC',
  ])('?%s orders by the identifier', async (order) => {
    const reversed = await list(`GET ${path}?${order.replace('ID', identifier)}`);
    expect(reversed.map((record) => record[identifier])).toEqual(all.toReversed());
  });
});

describe('/api/notifications', () => {
  const path = '/api/notifications';

  test(`POST ${path} is not there`, async () => {
    await answer(`POST ${path}`, 405, { templatesDirectory: 'new' });
  });

  test(`GET ${path} answers the ordinary mails of a shop, in their order`, async () => {
    const records = await list(`GET ${path}`);
    expect(records.flatMap((record) => misfits('Notification', record, {}))).toEqual([]);
    expect(records.length).toBeGreaterThanOrEqual(18);
    expect(records.map(({ templatesDirectory }) => templatesDirectory)).toContain('order_created');
    expect(records.map(({ position }) => position)).toEqual(
      records.map(({ position }) => Number(position)).toSorted((a, b) => a - b),
    );
  });

  test.each(Object.entries(NOTIFICATION_VARIANTS))(
    '?variant=%s lacks %j',
    async (variant, lacks: readonly string[]) => {
      const expected = Object.keys(answered('Notification')).filter((name) => !lacks.includes(name));
      const records = await list(`GET ${path}?variant=${variant}`);
      for (const record of [...records, await answer(`GET ${path}/1?variant=${variant}`, 200)]) {
        expect(Object.keys(record).toSorted()).toEqual(expected.toSorted());
      }
      for (const name of lacks) {
        await answer(`PUT ${path}/1?variant=${variant}`, 422, { [name]: name === 'position' ? 1 : true });
      }
    },
  );

  test('variant A is the default', async () => {
    expect(await answer(`GET ${path}/1`, 200)).toEqual(await answer(`GET ${path}/1?variant=A`, 200));
  });

  test(`PUT ${path}/1 changes every field`, async () => {
    const change = Object.fromEntries(
      Object.entries(await answer(`GET ${path}/1`, 200)).map(([name, value]) =>
        name === 'id' ? [name, value] : [name, typeof value === 'boolean' ? !value : OTHER[typeof value]],
      ),
    );
    expect(await answer(`PUT ${path}/1`, 200, change)).toEqual(change);
    expect(await answer(`GET ${path}/1`, 200)).toEqual(change);
  });

  test(`DELETE ${path}/2 answers the record as it was`, async () => {
    const before = await answer(`GET ${path}/2`, 200);
    expect(await answer(`DELETE ${path}/2`, 200)).toEqual(before);
    await answer(`GET ${path}/2`, 404);
  });
});

const OTHER: Readonly<Record<string, unknown>> = { string: 'modules/other', number: 7 };

const digits = (fraction: number) => (fraction === 0 ? '' : `.${'9'.repeat(fraction)}`);

describe('what the columns enforce', () => {
  test.each(LENGTHS)('$path $field has at most $length characters', async ({ path, body: holding, length }) => {
    await answer(`POST ${path}`, 201, holding('ü'.repeat(length)));
    await answer(`POST ${path}`, 422, holding('ü'.repeat(length + 1)));
  });

  test('TmpVar.value is a text of any length', async () => {
    const value = 'x'.repeat(100_000);
    expect((await answer('POST /api/tmp-vars', 201, { value }))['value']).toBe(value);
  });

  test.each(DECIMALS)(
    '$path $field has at most $whole digits, and $fraction after the point',
    async ({ path, body: holding, whole, fraction }) => {
      await answer(`POST ${path}`, 201, holding('9'.repeat(whole) + digits(fraction)));
      await answer(`POST ${path}`, 422, holding('9'.repeat(whole + 1)));
      await answer(`POST ${path}`, 422, holding(`0${digits(fraction + 1)}`));
    },
  );

  test.each(REFUSED)('%s: POST %s %j', async (_why, path, refused) => {
    await answer(`POST ${path}`, 422, refused);
  });

  test.each(UNIQUE)('POST %s %j twice', async (path, record) => {
    await answer(`POST ${path}`, 201, record);
    await answer(`POST ${path}`, 409, record);
  });

  test.each(UNIQUE_OR_NULL)('POST %s %j as often as one likes', async (path, record) => {
    await answer(`POST ${path}`, 201, record);
    await answer(`POST ${path}`, 201, record);
  });

  test('two notifications have not the same templates', async () => {
    const { templatesDirectory } = await answer('GET /api/notifications/3', 200);
    await answer('PUT /api/notifications/4', 409, { templatesDirectory });
  });

  test('a tax class that has rates stays', async () => {
    const { id } = await answer('POST /api/tax-classes', 201, {});
    await answer('POST /api/sales-tax-rates', 201, { taxClass: { id } });
    await answer(`DELETE /api/tax-classes/${id}`, 409);
  });

  test('a shipping method outlives its tax class', async () => {
    const { id } = await answer('POST /api/tax-classes', 201, {});
    const markup = { shipping_method: { code: 'POST', taxClass: { id } } };
    const { markup_id } = await answer('POST /api/shipping-markups', 201, markup);
    await answer(`DELETE /api/tax-classes/${id}`, 200);
    const { shipping_method } = await answer(
      `GET /api/shipping-markups/${markup_id}?include=shipping_method.taxClass`,
      200,
    );
    expect(shipping_method).toMatchObject({ code: 'POST', taxClass: null });
  });
});
