/** Nested reads and writes over HTTP: links, sets, owned records, one transaction, the round trip. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkSchema } from '../../engine/check.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { RecordType, Relation } from '../../engine/model/model.ts';
import { type Answer, ask } from '../support/ask.ts';
import { watchDatabase, type Watch } from '../support/database.ts';
import { isPooled } from '../support/databases.ts';
import { randomBody } from '../support/random-body.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { drawn } from '../support/sample.ts';
import fc from '../support/fast-check.ts';

/** Records of each type; `RUNS=100 npx jest tests/storage/relations` draws other ones, and more of them. */
const RUNS = drawn(10);

const FIXTURES = 'tests/fixtures/schemas';

describe('the shipped types', () => {
  let server: TestServer;
  let watch: Watch;
  const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
  const sent = async (request: string, body?: unknown): Promise<JsonObject> =>
    (await send(request, body)).body as JsonObject;
  const make = async (path: string, body: unknown): Promise<JsonObject> => {
    const { status, body: record } = await send(`POST /api/${path}`, body);
    expect({ status, record }).toMatchObject({ status: 201 });
    return record as JsonObject;
  };

  beforeAll(async () => {
    server = await startTestServer();
    watch = await watchDatabase(server.database);
  });
  afterAll(async () => {
    await watch.close();
    await server.close();
  });

  it('a markup is made with a new method and a new zone, elements included', async () => {
    const zone = { zone_name: 'North', zone_elements: [{ country: 'DE' }, { country: 'DK' }] };
    const markup = await make('shipping-markups?include=shipping_method,zone.zone_elements', {
      shipping_method: { code: 'ship' },
      zone,
    });
    expect(markup).toMatchObject({
      shipping_method: { code: 'ship', handlingFee: '0' },
      zone: { zone_name: 'North', zone_elements: [{ country: 'DE' }, { country: 'DK' }] },
    });
  });

  it('an existing zone is linked, changed through a markup, and its elements replaced', async () => {
    const first = await make('shipping-markups', { zone: { zone_name: 'A', zone_elements: [{ n: 1 }, { n: 2 }] } });
    const { zone_id } = first['zone'] as { zone_id: number };
    const second = await make('shipping-markups', { zone: { zone_id } });
    expect(second['zone']).toEqual({ zone_id, zone_name: 'A', is_default: false });

    const path = `/api/shipping-markups/${String(second['markup_id'])}`;
    const changed = await sent(`PUT ${path}`, { zone: { zone_id, zone_name: 'B' } });
    expect(changed['zone']).toMatchObject({ zone_name: 'B' });
    expect((await sent(`GET /api/shipping-markups/${String(first['markup_id'])}`))['zone']).toMatchObject({
      zone_name: 'B',
    });

    const deep = `${path}?include=zone.zone_elements`;
    const before = (await sent(`GET ${deep}`)) as { zone: { zone_elements: { id: number }[] } };
    const [kept] = before.zone.zone_elements;
    const after = await sent(`PUT ${deep}`, { zone: { zone_id, zone_elements: [{ id: kept?.id }, { n: 3 }] } });
    expect(after['zone']).toMatchObject({ zone_elements: [{ id: kept?.id, n: 1 }, { n: 3 }] });
  });

  it('a global tab is made with everything that it owns, and takes it along', async () => {
    const body = {
      custom_tab: {},
      providers: [{ code: 'Core' }, { code: 'Mod' }],
      product_specific_aliases: [{ alias: 'x' }],
    };
    const before = await watch.contents();
    const tab = await make('global-tabs', body);
    expect(tab).toMatchObject({
      custom_tab: { id: expect.any(Number) },
      providers: [{ code: 'Core' }, { code: 'Mod' }],
      product_specific_aliases: [{ alias: 'x' }],
    });
    expect(await sent(`DELETE /api/global-tabs/${String(tab['id'])}`)).toEqual(tab);
    expect(await watch.contents()).toBe(before);
  });

  it('one fault in the last nested child, and nothing is written', async () => {
    const taken = await make('global-tabs', { service_name: 'taken', providers: [{ code: 'Core' }] });
    const before = await watch.contents();
    const cases: readonly (readonly [unknown, number, string])[] = [
      [{ providers: [{ code: 'a' }, { code: 7 }] }, 422, '/providers/1/code'],
      [{ providers: [{ code: 'a' }, { id: 999_999 }] }, 422, '/providers/1/id'],
      [{ custom_tab: {}, providers: [{ code: 'a' }], service_name: 'taken' }, 409, '/service_name'],
      [{ id: taken['id'] }, 409, '/id'],
      [{ providers: [{ id: (taken['providers'] as JsonObject[])[0]?.['id'] }] }, 422, '/providers/0/id'],
    ];
    for (const [body, status, pointer] of cases) {
      const answer = await send('POST /api/global-tabs', body);
      expect({ ...(answer.body as object), status: answer.status }).toMatchObject({
        status,
        errors: [
          expect.objectContaining({
            pointer,
            ...(status === 409 && { records: [{ type: 'GlobalTab', identifier: taken['id'] }] }),
          }),
        ],
      });
    }
    expect(await watch.contents()).toBe(before);
  });

  it('what is only linked cannot be changed', async () => {
    const { id } = (await make('tax-classes', { position: 4 })) as { id: number };
    const rate = await make('sales-tax-rates', { taxClass: { id } });
    expect(rate['taxClass']).toEqual({ id, position: 4 });
    const path = `PUT /api/sales-tax-rates/${String(rate['id'])}`;
    expect(await send(path, { taxClass: { id, position: 4 } })).toMatchObject({ status: 200 });
    expect(await send(path, { taxClass: { id, position: 5 } })).toMatchObject({
      status: 409,
      body: { errors: [{ pointer: '/taxClass/position' }] },
    });
    expect(await send(path, { taxClass: { position: 5 } })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/taxClass/id' }] },
    });
    expect(await send(path, { taxClass: null })).toMatchObject({ status: 200, body: { taxClass: null } });
  });

  it('deletion says who refers', async () => {
    const { id } = (await make('tax-classes', {})) as { id: number };
    const rate = await make('sales-tax-rates', { taxClass: { id } });
    const { status, body } = await send(`DELETE /api/tax-classes/${id}`);
    expect({ status, body }).toMatchObject({
      status: 409,
      body: {
        errors: [
          {
            code: 'restrict',
            message: `SalesTaxRate ${String(rate['id'])} refers to TaxClass ${id}`,
            records: [{ type: 'SalesTaxRate', identifier: rate['id'] }],
          },
        ],
      },
    });
  });

  it('one record twice with two values is refused, with both places', async () => {
    const markup = await make('shipping-markups', { zone: { zone_name: 'T' } });
    const { zone_id } = markup['zone'] as { zone_id: number };
    const twice = {
      min_weight: '1',
      zone: { zone_id, shipping_markups: [{ markup_id: markup['markup_id'], min_weight: '2' }] },
    };
    const { status, body } = await send(`PUT /api/shipping-markups/${String(markup['markup_id'])}`, twice);
    const pointers = (body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer);
    expect({ status, pointers: pointers.toSorted() }).toEqual({
      status: 422,
      pointers: ['/min_weight', '/zone/shipping_markups/0/min_weight'],
    });
  });

  it('two writers on one nested record leave no half state', async () => {
    const markup = await make('shipping-markups', { zone: { zone_name: 'start', zone_elements: [] } });
    const { zone_id } = markup['zone'] as { zone_id: number };
    const path = `/api/shipping-markups/${String(markup['markup_id'])}?include=zone.zone_elements`;
    const write = (name: string): Promise<Answer> =>
      send(`PUT ${path}`, {
        min_weight: name,
        zone: { zone_id, zone_name: name, zone_elements: [{ by: name }, { by: name }] },
      });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => write(String(index))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { min_weight: name, zone } = (await sent(`GET ${path}`)) as { min_weight: string; zone: JsonObject };
    expect(zone).toMatchObject({ zone_name: name, zone_elements: [{ by: name }, { by: name }] });
    expect(zone['zone_elements']).toHaveLength(2);
  });

  it('more than 10,000 records beyond the first level are refused by the name of their path', async () => {
    const zone_elements = Array.from({ length: 5_001 }, () => ({}));
    const markup = await make('shipping-markups', { zone: { zone_elements } });
    const { zone_id } = markup['zone'] as { zone_id: number };
    const list = `GET /api/shipping-markups?_cnd[zone]=${zone_id}&include=zone.zone_elements`;
    expect(await send(list)).toMatchObject({ status: 200 });
    await make('shipping-markups', { zone: { zone_id } });
    const tooMany = { status: 400, body: { detail: expect.stringContaining('zone.zone_elements') } };
    expect(await send(list)).toMatchObject(tooMany);
    expect(await send(`${list}&_cnd[limit]=0&_cnd[limit]=10`)).toMatchObject(tooMany);
    expect(await send(`${list}&_cnd[limit]=0&_cnd[limit]=1`)).toMatchObject({ status: 200 });
    const own = `GET /api/shipping-markups/${String(markup['markup_id'])}?include=zone.shipping_markups.zone.zone_elements`;
    expect(await send(own)).toMatchObject({ status: 400 });
  });

  it('lists are ordered and filtered through relations', async () => {
    const zones = await Promise.all(
      ['zz', 'aa'].map((zone_name) => make('shipping-markups', { markup_flat: '77', zone: { zone_name } })),
    );
    const ids = async (search: string): Promise<unknown[]> =>
      ((await send(`GET /api/shipping-markups?_cnd[markup_flat]=77&${search}`)).body as JsonObject[]).map(
        ({ markup_id }) => markup_id,
      );
    const [z, a] = zones.map(({ markup_id }) => markup_id);
    expect(await ids('_cnd[orderBy]=zone.zone_name')).toEqual([a, z]);
    expect(await ids('_cnd[orderBy]=zone.zone_name&_cnd[orderBy]=desc')).toEqual([z, a]);
    expect(await ids('_cnd[zone.zone_name]=aa')).toEqual([a]);
    expect(await ids(`_cnd[zone]=${String((zones[0]?.['zone'] as JsonObject | undefined)?.['zone_id'])}`)).toEqual([z]);
    expect(await ids('_cnd[shipping_method][null]=true')).toHaveLength(2);
  });
});

describe('records that own records of their own type', () => {
  let server: TestServer;
  const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
  const refused = (code: string, pointer: string): object => ({
    status: 422,
    body: { errors: [expect.objectContaining({ code, pointer })] },
  });

  beforeAll(
    async () => void (server = await startTestServer({ schemaDirectory: `${FIXTURES}/owned-by-its-own-type` })),
  );
  afterAll(() => server.close());

  it('nobody is owned by itself, or by what it owns', async () => {
    await send('POST /api/parts', { id: 100, name: 'top', parts: [{ name: 'below', parts: [{ name: 'bottom' }] }] });
    const bottom = ((await send('GET /api/parts?_cnd[name]=bottom')).body as { id: number }[])[0]?.id;
    expect(await send('PUT /api/parts/100', { parts: [{ id: 100 }] })).toMatchObject(refused('owned', '/parts/0/id'));
    expect(await send('PUT /api/parts/100', { whole: { id: 100 } })).toMatchObject(refused('owned', '/whole/id'));
    expect(await send('PUT /api/parts/100', { whole: { id: bottom } })).toMatchObject(refused('owned', '/whole/id'));
    expect(await send(`PUT /api/parts/${bottom}`, { parts: [{ id: 100 }] })).toMatchObject(
      refused('owned', '/parts/0/id'),
    );
  });

  it('nor through a new record that comes between', async () => {
    await send('POST /api/parts', { id: 110, parts: [{ name: 'below' }] });
    const [parts, whole] = [[{ id: 110 }], { id: 111 }];
    expect(await send('POST /api/parts', { parts, whole })).toMatchObject(refused('owned', '/whole/id'));
    expect(await send('POST /api/parts', { whole, parts })).toMatchObject(refused('owned', '/parts/0/id'));
    const above = { parts: [{ name: 'between', parts }] };
    expect(await send('PUT /api/parts/111', above)).toMatchObject(refused('owned', '/parts/0/parts/0/id'));
  });

  it('a body cannot link in one place what it deletes in another', async () => {
    await send('POST /api/parts', { id: 200, parts: [{ name: 'a', parts: [{ name: 'b' }] }] });
    const [a] = (await send('GET /api/parts?_cnd[name]=a')).body as { id: number }[];
    const [b] = (await send('GET /api/parts?_cnd[name]=b')).body as { id: number }[];
    const left = (id: number | undefined): object => ({ parts: [], spare: { id } });
    expect(await send('PUT /api/parts/200', left(a?.id))).toMatchObject(refused('deleted', '/spare/id'));
    expect(await send('PUT /api/parts/200', left(b?.id))).toMatchObject({ status: 422 });
    expect(await send('GET /api/parts/200')).toMatchObject({ body: { parts: [{ name: 'a' }] } });
  });

  it('PATCH merges alike in fields and open keys of a record that it makes', async () => {
    const patch = { parts: [{ data: { a: 0, b: null }, key: { a: 0, b: null }, gone: null }] };
    await send('POST /api/parts', { id: 300 });
    expect(await send('PATCH /api/parts/300', patch)).toMatchObject({ status: 200 });
    const { body } = await send('GET /api/parts/300');
    const { id: _, ...part } = (body as { parts: JsonObject[] }).parts[0] ?? {};
    expect(part).toEqual({ name: null, data: { a: 0 }, key: { a: 0 } });
  });
});

it('two new records with one unique value are told apart by their places in the body', async () => {
  const server = await startTestServer({ schemaDirectory: `${FIXTURES}/unique-together` });
  const boxes = [{ serial: 's' }, { serial: 's' }];
  const { status, body } = await ask(server.url, 'POST /api/shelves', { boxes });
  await server.close();
  expect([status, body]).toMatchObject([
    409,
    {
      errors: [
        {
          pointer: '/boxes/1/serial',
          message: '"/boxes/0/serial" in the same body has this value of "serial" already',
        },
      ],
    },
  ]);
});

it('a record that a set goes on listing is in the way of one that comes to it', async () => {
  const server = await startTestServer({ schemaDirectory: `${FIXTURES}/unique-together` });
  const made = (path: string, body: object): Promise<{ id: number }> =>
    ask(server.url, `POST /api/${path}`, body).then((answer) => answer.body as { id: number });
  const coming = await made('boxes', { slot: 1 });
  const shelf = await made('shelves', { boxes: [{ slot: 1 }] });
  const [staying] = (shelf as { id: number; boxes?: readonly { id: number }[] }).boxes ?? [];
  const boxes = [{ id: staying?.id }, { id: coming.id }];
  const { status, body } = await ask(server.url, `PUT /api/shelves/${shelf.id}`, { boxes });
  await server.close();
  const fault = {
    code: 'unique',
    message: `Box ${staying?.id} has this value of "shelf" and "slot" already`,
    records: [{ type: 'Box', identifier: staying?.id }],
  };
  expect([status, body]).toMatchObject([
    409,
    {
      errors: [
        { ...fault, pointer: '/boxes/1' },
        { ...fault, pointer: '/boxes/1/slot' },
      ],
    },
  ]);
});

const all = ['schema', ...readdirSync(FIXTURES).map((name) => `${FIXTURES}/${name}`)];
/** Where each schema takes a database of its own, some stand for the rest. */
const schemas = isPooled ? all.slice(0, 4) : all;
const whole = (type: RecordType): boolean =>
  (['get', 'create', 'update'] as const).every((operation) => type.operations.has(operation));
const typesOf = (directory: string): readonly RecordType[] => [
  ...(checkSchema(directory).schema?.model.types.values() ?? []),
];

it.each(schemas)('%s is without fault', (directory) => expect(typesOf(directory)).not.toHaveLength(0));

describe.each(schemas.filter((directory) => typesOf(directory).some(whole)))(
  'the round trip in %s',
  (schemaDirectory) => {
    const types = typesOf(schemaDirectory);
    let server: TestServer;
    let watch: Watch;

    beforeAll(async () => {
      server = await startTestServer({ schemaDirectory });
      watch = await watchDatabase(server.database);
    });
    afterAll(async () => {
      await watch.close();
      await server.close();
    });

    it.each(types.filter(whole).map((type) => [type.name, type] as const))(
      'of %s: what GET answers can be PUT back, and writes nothing',
      async (_, type) => {
        const collection = `${server.url}/api/${encodeURIComponent(type.path)}`;
        const linkable = await recordsToLink(server.url, types);
        const link = ({ target, inverse }: Relation): JsonObject | undefined => {
          const identifier = linkable.get(target);
          // A record that has one parent already cannot be linked again without taking it away.
          return identifier === undefined || (inverse && !inverse.toMany)
            ? undefined
            : { [target.identifier.name]: identifier };
        };
        await fc.assert(
          fc.asyncProperty(fc.gen(), async (gen) => {
            const body = randomBody(type, gen, link);
            const headers = { 'content-type': 'application/json' };
            const created = await fetch(collection, { method: 'POST', headers, body: JSON.stringify(body) });
            if (created.status === 409) return; // Two random values that must be unique were the same.
            const refusal = created.status === 201 ? '' : await created.text();
            if (refusal.includes('"code":"check"')) return; // Two random values contradicted each other.
            if (refusal !== '') throw new Error(`${JSON.stringify(body)} was refused: ${refusal}`);
            const location = server.url + String(created.headers.get('location'));
            const got = await fetch(location);
            const text = await got.text();
            const version = await watch.version();
            const tag = got.headers.get('etag');
            const put = await fetch(location, {
              method: 'PUT',
              headers: { ...headers, ...(tag ? { 'if-match': tag } : {}) },
              body: text,
            });
            expect({ status: put.status, text: await put.text(), tag: put.headers.get('etag') }).toEqual({
              status: 200,
              text,
              tag,
            });
            expect(await watch.version()).toBe(version);
          }),
          { numRuns: RUNS },
        );
      },
    );
  },
);

/** Numbers for values that no other record has. */
let unused = 1_000_000;

/** One record of each type that can be made with its fields alone. */
async function recordsToLink(url: string, types: readonly RecordType[]): Promise<ReadonlyMap<RecordType, number>> {
  const made = new Map<RecordType, number>();
  for (const type of types.filter(({ operations, identifier }) => operations.has('create') && identifier.inRecord)) {
    const fields = [...type.fields.values()].filter(({ required }) => required);
    const body = Object.fromEntries(fields.map((field) => [field.name, field.type.good(field, (unused += 1))]));
    const { status, body: record } = await ask(url, `POST /api/${encodeURIComponent(type.path)}`, body);
    if (status === 201) made.set(type, Number((record as JsonObject)[type.identifier.name]));
  }
  return made;
}
