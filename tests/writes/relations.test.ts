/** Nested reads and writes over HTTP: links, sets, owned records, one transaction, the round trip. */
import type { JsonObject } from '../../engine/json/json.ts';
import { type Answer, ask } from '../support/ask.ts';
import { startTestServer, useServer } from '../support/server.ts';

const FIXTURES = 'tests/fixtures/schemas';

describe('the shipped types', () => {
  const server = useServer();
  const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
  const sent = async (request: string, body?: unknown): Promise<JsonObject> =>
    (await send(request, body)).body as JsonObject;
  const make = async (path: string, body: unknown): Promise<JsonObject> => {
    const { status, body: record } = await send(`POST /api/${path}`, body);
    expect({ status, record }).toMatchObject({ status: 201 });
    return record as JsonObject;
  };

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
});

describe('records that own records of their own type', () => {
  const server = useServer({ schemaDirectory: `${FIXTURES}/owned-by-its-own-type` });
  const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
  const refused = (code: string, pointer: string): object => ({
    status: 422,
    body: { errors: [expect.objectContaining({ code, pointer })] },
  });

  it('no record owns itself, directly or indirectly', async () => {
    await send('POST /api/parts', { id: 100, name: 'top', parts: [{ name: 'below', parts: [{ name: 'bottom' }] }] });
    const bottom = ((await send('GET /api/parts?_cnd[name]=bottom')).body as { id: number }[])[0]?.id;
    expect(await send('PUT /api/parts/100', { parts: [{ id: 100 }] })).toMatchObject(refused('owned', '/parts/0/id'));
    expect(await send('PUT /api/parts/100', { whole: { id: 100 } })).toMatchObject(refused('owned', '/whole/id'));
    expect(await send('PUT /api/parts/100', { whole: { id: bottom } })).toMatchObject(refused('owned', '/whole/id'));
    expect(await send(`PUT /api/parts/${bottom}`, { parts: [{ id: 100 }] })).toMatchObject(
      refused('owned', '/parts/0/id'),
    );
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
});

it('a listed record conflicts with one that is added to the set', async () => {
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
      errors: [{ ...fault, pointer: '/boxes/1' }],
    },
  ]);
});
