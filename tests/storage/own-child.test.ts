/** The one child that a record owns may stand in a body without its identifier: which one it is, or whether it is new, follows from its owner. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../engine/json.ts';
import { type Answer, ask } from '../support/ask.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);

beforeAll(async () => void (server = await startTestServer({ schemaDirectory: 'tests/fixtures/own-child' })));
afterAll(() => server.close());

async function make(path: string, body: object = {}): Promise<JsonObject & { readonly id: number }> {
  const { status, body: record } = await send(`POST /api/${path}`, body);
  expect({ status, record }).toMatchObject({ status: 201 });
  return record as JsonObject & { readonly id: number };
}

interface Cast {
  /** Has the lid. */
  readonly box: number;
  readonly lid: number;
  /** Of another box. */
  readonly other: number;
  readonly rack: number;
  readonly hook: number;
  readonly tag: number;
}

async function cast(): Promise<Cast> {
  const { id: box, lid } = await make('boxes', { lid: { color: 'red' } });
  const { lid: other } = await make('boxes', { lid: { color: 'blue' } });
  const [{ id: rack }, { id: hook }, { id: tag }] = [await make('racks'), await make('hooks'), await make('tags')];
  return { box, lid: (lid as { id: number }).id, other: (other as { id: number }).id, rack, hook, tag };
}

interface Told {
  readonly status: number;
  readonly pointers: readonly string[];
}

function told({ status, body }: Answer): Told {
  const { errors = [] } = body as { errors?: { pointer?: string }[] };
  return { status, pointers: errors.map(({ pointer = '' }) => pointer) };
}

/** Each leaves the child out of a set, or of the one place, that it names itself. */
const leftOut: readonly (readonly [string, (cast: Cast) => object, readonly string[]])[] = [
  [
    'a set that lists another',
    ({ rack, other }) => ({ lid: { rack: { id: rack } }, rack: { id: rack, lids: [{ id: other }] } }),
    ['/lid/rack', '/rack/lids'],
  ],
  [
    'a manyToMany that lists another',
    ({ tag, other }) => ({ lid: { tags: [{ id: tag }] }, tag: { id: tag, lids: [{ id: other }] } }),
    ['/lid/tags', '/tag/lids'],
  ],
  [
    'a set that lists another, beside a record that stands twice in a set',
    ({ rack, other }) => ({
      lid: { rack: { id: rack } },
      rack: { id: rack, lids: [{ id: other }, { id: other }] },
    }),
    ['/lid/rack', '/rack/lids', '/rack/lids/1'],
  ],
];

describe('a child without its identifier is left out by', () => {
  it.each(leftOut)('%s: its owner is new', async (_, bodyOf, pointers) => {
    expect(told(await send('POST /api/boxes', bodyOf(await cast())))).toEqual({ status: 422, pointers });
  });
});

describe('a child without its identifier', () => {
  it('is the one that the other place names', async () => {
    const { box, lid, rack, hook, tag } = await cast();
    const body = {
      lid: { rack: { id: rack }, hook: { id: hook }, tags: [{ id: tag }] },
      rack: { id: rack, lids: [{ id: lid, color: 'green' }] },
      hook: { id: hook, lid: { id: lid } },
      tag: { id: tag, lids: [{ id: lid, color: 'green' }] },
    };
    expect(await send(`PUT /api/boxes/${box}`, body)).toMatchObject({ status: 200, body: { lid: { color: 'green' } } });
    expect((await send(`GET /api/lids/${lid}`)).body).toMatchObject({
      rack: { id: rack },
      hook: { id: hook },
      tags: [{ id: tag }],
    });
  });

  it('may be owned in two ways', async () => {
    const { box, lid, rack } = await cast();
    expect(await send(`PUT /api/boxes/${box}`, { spare: { id: lid } })).toMatchObject({ status: 200 });
    const both = (color: string): object => ({ lid: { color: 'x', rack: { id: rack } }, spare: { color } });
    expect(await send(`PUT /api/boxes/${box}`, both('x'))).toMatchObject({ status: 200, body: { lid: { id: lid } } });
    expect(told(await send(`PUT /api/boxes/${box}`, both('y')))).toEqual({
      status: 422,
      pointers: ['/lid/color', '/spare/color'],
    });
  });

  it.each([
    ['that the path names', 'PUT', (body: object) => body, ['']],
    ['that an array names', 'PATCH', (body: object) => [body], ['/0/id']],
  ] as const)('%s is not deleted by the body', async (_, method, bodyOf, pointers) => {
    const { id, seal } = await make('tags?include=seal', { seal: { color: 'gold' } });
    const { id: lid } = seal as { id: number };
    const path = method === 'PUT' ? `/api/lids/${lid}` : '/api/lids';
    const body = bodyOf({ id: lid, color: 'silver', tags: [{ id, seal: null }] });
    expect(told(await send(`${method} ${path}`, body))).toEqual({ status: 422, pointers });
    expect(await send(`GET /api/lids/${lid}`)).toMatchObject({ status: 200, body: { color: 'gold', tags: [] } });
  });
});
