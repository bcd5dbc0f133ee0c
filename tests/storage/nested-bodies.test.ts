/** Bodies that reach one record in several ways, everything wrong with a body at once and in its order, values that change hands. */
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { JsonObject } from '../../engine/json.ts';
import { exchange } from '../support/exchange.ts';
import { type Answer, ask } from '../support/ask.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let rank = 0;
const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
const DEEP = 'include=things.owner,badge.holder,tags.owners,friend,boss,lid';

beforeAll(async () => void (server = await startTestServer({ schemaDirectory: 'tests/fixtures/nested' })));
afterAll(() => server.close());

async function make(path: string, body: object = {}): Promise<number> {
  const given = path === 'owners' ? { rank: (rank += 1) } : {};
  const { status, body: record } = await send(`POST /api/${path}`, { ...given, ...body });
  expect({ status, record }).toMatchObject({ status: 201 });
  return Number((record as JsonObject)['id']);
}

interface Refused {
  readonly status: number;
  readonly pointers: readonly string[];
  readonly codes: readonly string[];
}

function refusal({ status, body }: Answer): Refused {
  const { errors = [] } = body as { errors?: { pointer?: string; code: string }[] };
  return { status, pointers: errors.map(({ pointer = '' }) => pointer), codes: errors.map(({ code }) => code) };
}

/** Two owners, one thing of the first, a badge of the first, a tag of both. */
interface Cast {
  readonly a: number;
  readonly b: number;
  readonly thing: number;
  readonly other: number;
  readonly badge: number;
  readonly tag: number;
}

async function cast(): Promise<Cast> {
  const b = await make('owners', { name: 'b' });
  const a = await make('owners', { name: 'a', friend: { id: b }, boss: { id: b }, lid: { color: 'red' } });
  const thing = await make('things', { name: 'x', price: '1.5', owner: { id: a } });
  const other = await make('things', { name: 'y', owner: { id: a } });
  const badge = await make('badges', { number: 1, holder: { id: a } });
  const tag = await make('tags', { word: 't', owners: [{ id: a }, { id: b }] });
  return { a, b, thing, other, badge, tag };
}

describe('one record in several places', () => {
  /** Each body of PUT /api/owners/{a}, and the places that contradict each other. */
  const bodies: readonly (readonly [string, (cast: Cast) => object, readonly string[]])[] = [
    [
      'a key of the record itself',
      ({ a, thing }) => ({ name: 'p', things: [{ id: thing, owner: { id: a, name: 'q' } }] }),
      ['/name', '/things/0/owner/name'],
    ],
    [
      'a key of a linked copy',
      ({ b }) => ({ friend: { id: b, name: 'p' }, boss: { id: b, name: 'b' } }),
      ['/friend/name', '/boss/name'],
    ],
    [
      'two linked copies',
      ({ b, a, thing }) => ({
        boss: { id: b, name: 'b' },
        things: [{ id: thing, owner: { id: a, boss: { id: b, name: 'c' } } }],
      }),
      ['/boss/name', '/things/0/owner/boss/name'],
    ],
    [
      'an open key',
      ({ thing, badge, a }) => ({
        things: [{ id: thing, more: { k: 1 } }],
        badge: { id: badge, holder: { id: a, things: [{ id: thing, more: { k: 2 } }] } },
      }),
      ['/things/0/more', '/badge/holder/things/0/more'],
    ],
    [
      'a value that is equal and written differently',
      ({ thing, badge, a }) => ({
        things: [{ id: thing, price: '1.5' }],
        badge: { id: badge, holder: { id: a, things: [{ id: thing, price: '1.50' }] } },
      }),
      ['/things/0/price', '/badge/holder/things/0/price'],
    ],
    [
      'a set with more in it',
      ({ a, thing, other }) => ({
        things: [{ id: thing, owner: { id: a, things: [{ id: thing }, { id: other }] } }],
      }),
      ['/things', '/things/0/owner/things'],
    ],
    [
      'a set with another in it',
      ({ a, thing, other, badge }) => ({
        things: [{ id: thing }],
        badge: { id: badge, holder: { id: a, things: [{ id: other }] } },
      }),
      ['/things', '/badge/holder/things'],
    ],
    [
      'two sets with a new record each',
      ({ a, badge }) => ({ things: [{ name: 'n' }], badge: { id: badge, holder: { id: a, things: [{ name: 'n' }] } } }),
      ['/things', '/badge/holder/things'],
    ],
    [
      'two links',
      ({ a, b, thing }) => ({ friend: { id: b }, things: [{ id: thing, owner: { id: a, friend: null } }] }),
      ['/friend', '/things/0/owner/friend'],
    ],
    [
      'a linked copy with another link',
      ({ a, b }) => ({ friend: { id: b, boss: { id: a } }, boss: { id: b, boss: null } }),
      ['/friend/boss', '/boss/boss'],
    ],
    [
      'two parents that both claim a child',
      ({ b, thing }) => ({ things: [{ id: thing }], friend: { id: b, things: [{ id: thing }] } }),
      ['/things/0', '/friend/things/0'],
    ],
    [
      'a set with a child that names another parent',
      ({ b, thing }) => ({ things: [{ id: thing, owner: { id: b } }] }),
      ['/things/0', '/things/0/owner'],
    ],
    [
      'one child of two',
      ({ b, badge }) => ({ badge: { id: badge }, friend: { id: b, badge: { id: badge } } }),
      ['/badge', '/friend/badge'],
    ],
    [
      'a child that names its parent, which has none',
      ({ a, b, badge }) => ({
        badge: null,
        friend: { id: b, friend: { id: a, badge: { id: badge } } },
      }),
      ['/badge', '/friend/friend/badge'],
    ],
    [
      'a manyToMany from both sides',
      ({ b, tag }) => ({ tags: [], friend: { id: b, tags: [{ id: tag, owners: [{ id: b }] }] } }),
      [],
    ],
    [
      'a manyToMany whose other side lists the record',
      ({ a, b, tag }) => ({ tags: [], friend: { id: b, tags: [{ id: tag, owners: [{ id: a }, { id: b }] }] } }),
      ['/tags', '/friend/tags/0/owners'],
    ],
    [
      'a manyToMany whose other side leaves the record out',
      ({ b, tag }) => ({ tags: [{ id: tag }], friend: { id: b, tags: [{ id: tag, owners: [{ id: b }] }] } }),
      ['/tags', '/friend/tags/0/owners'],
    ],
    [
      'a child without identifier in two places',
      ({ a, thing }) => ({
        lid: { color: 'blue' },
        things: [{ id: thing, owner: { id: a, lid: { color: 'green' } } }],
      }),
      ['/lid/color', '/things/0/owner/lid/color'],
    ],
  ];

  it.each(bodies)('%s', async (_, bodyOf, pointers) => {
    const names = await cast();
    const path = `/api/owners/${names.a}?${DEEP}`;
    const before = (await send(`GET ${path}`)).body;
    const told = refusal(await send(`PUT ${path}`, bodyOf(names)));
    if (pointers.length === 0) return expect(told.status).toBe(200);
    expect({ ...told, pointers: told.pointers.toSorted() }).toMatchObject({
      status: 422,
      pointers: pointers.toSorted(),
    });
    expect(new Set(told.codes)).toEqual(new Set(['contradiction']));
    return expect((await send(`GET ${path}`)).body).toEqual(before);
  });

  it('a child that names a parent whose set leaves it out', async () => {
    const { a, b, thing, other } = await cast();
    const owner = { id: a, friend: { id: b, friend: { id: a, things: [{ id: other }] } } };
    expect(refusal(await send(`PUT /api/things/${thing}`, { owner }))).toMatchObject({
      status: 422,
      pointers: ['/owner', '/owner/friend/friend/things'],
    });
    const listed = { id: a, things: [{ id: other }] };
    expect(await send(`PUT /api/things/${thing}`, { owner: listed })).toMatchObject({ status: 200 });
    expect(await send(`GET /api/owners/${a}`)).toMatchObject({ body: { things: [{ name: 'x' }, { name: 'y' }] } });
  });

  it('what GET answers four levels deep is accepted, and is not once one copy was edited', async () => {
    const { a, other } = await cast();
    const path = `/api/things/${other}?include=owner.things.owner.things`;
    const got = (await send(`GET ${path}`)).body as { owner: { things: { owner: { things: unknown[] } }[] } };
    expect(await send(`PUT ${path}`, got)).toMatchObject({ status: 200, body: got });
    got.owner.things[0]?.owner.things.pop();
    expect(refusal(await send(`PUT ${path}`, got))).toMatchObject({
      status: 422,
      pointers: ['/owner/things', '/owner/things/0/owner/things'],
    });
    expect((await send(`GET /api/owners/${a}`)).body).toMatchObject({ things: [{ name: 'x' }, { name: 'y' }] });
  });

  it('a child without its identifier, and another that is named', async () => {
    const { a, thing } = await cast();
    const { lid } = (await send(`GET /api/owners/${a}`)).body as { lid: { id: number } };
    const both = (id: number): object => ({
      lid: { color: 'blue' },
      things: [{ id: thing, owner: { id: a, lid: { id, color: 'blue' } } }],
    });
    expect(await send(`PUT /api/owners/${a}`, both(lid.id))).toMatchObject({
      status: 200,
      body: { lid: { id: lid.id } },
    });
    const foreign = (await send('POST /api/owners', { rank: (rank += 1), lid: { color: 'x' } })).body as {
      lid: { id: number };
    };
    expect(refusal(await send(`PUT /api/owners/${a}`, both(foreign.lid.id)))).toMatchObject({
      status: 422,
      pointers: ['/lid', '/things/0/owner/lid'],
    });
  });
});

describe('everything that is wrong with a body', () => {
  const faulty = (thing: number): object => ({
    tags: [{ id: 1, word: 7 }],
    secret: 'seen',
    id: 987_654,
    things: [{ id: thing, name: 1 }, { id: thing }],
    level: 4,
    unheard: true,
    friend: { rank: 5, level: 9 },
    lid: {},
  });
  const pointers = [
    '/tags/0/word',
    '/secret',
    '/id',
    '/things/0/name',
    '/things/1',
    '/level',
    '/unheard',
    '/friend/level',
  ];

  it('is told at once, in the order of the body, before what is there is asked', async () => {
    const { a, thing } = await cast();
    const [status, told] = [422, [...pointers]];
    expect(refusal(await send(`PUT /api/owners/${a}`, faulty(thing)))).toMatchObject({ status, pointers: told });
    const headers = { 'content-type': 'application/json', 'if-match': '"stale"' };
    const repeated = { things: [{ id: thing }, { id: thing }] };
    const disagreeing = (id: number): object => ({ name: 'p', things: [{ id: thing, owner: { id, name: 'q' } }] });
    for (const body of [faulty(thing), { secret: 'seen' }, { id: a + 1 }, repeated, disagreeing(a)]) {
      const answer = await exchange(server.url, `PUT /api/owners/${a}`, { headers, body: JSON.stringify(body) });
      expect(answer.status).toBe(422);
    }
    for (const body of [{ id: a }, repeated, disagreeing(9_999_999)])
      expect(await send('PUT /api/owners/9999999', body)).toMatchObject({ status: 422 });
    expect(await send('PUT /api/owners/9999999', { secret: 'seen' })).toMatchObject({ status: 404 });
  });

  it('is told of a child that would be made, too', async () => {
    const bare = await make('owners');
    const { status, pointers: told } = refusal(await send(`PUT /api/owners/${bare}`, { name: 1, lid: {} }));
    expect({ status, told }).toEqual({ status: 422, told: ['/name', '/lid/color'] });
    expect(refusal(await send(`PUT /api/owners/${bare}`, { lid: {} })).pointers).toEqual(['/lid/color']);
  });

  it('is told below a place that another contradicts, and of a record that stands twice in a set', async () => {
    const { a, b, thing } = await cast();
    const owner = { id: a, name: 'z', level: 4 };
    const bodies: readonly (readonly [object, readonly string[]])[] = [
      [
        { friend: { id: b, level: 4 }, things: [{ id: thing, owner: { id: a, friend: null } }] },
        ['/friend', '/friend/level', '/things/0/owner/friend'],
      ],
      [{ name: 'y', things: [{ id: thing, owner }] }, ['/name', '/things/0/owner/name', '/things/0/owner/level']],
      [{ things: [{ id: thing }, { id: thing, owner }] }, ['/things/1', '/things/1/owner/level']],
      [
        { things: [{ id: thing, owner: { id: b, level: 4 } }] },
        ['/things/0', '/things/0/owner', '/things/0/owner/level'],
      ],
    ];
    for (const [body, told] of bodies)
      expect(refusal(await send(`PUT /api/owners/${a}`, body))).toMatchObject({ status: 422, pointers: told });
  });

  it('is told of a child that would be made where the body first speaks of it', async () => {
    const [bare, thing] = [await make('owners'), await make('things')];
    const body = { things: [{ id: thing, owner: { id: bare, lid: {} } }], lid: {} };
    expect(refusal(await send(`PUT /api/owners/${bare}`, body))).toMatchObject({
      status: 422,
      pointers: ['/things/0/owner/lid/color'],
    });
  });

  it('and of a record that is made', async () => {
    const body = { secret: 'x', name: 1, level: 3, rank: 'y', lid: {} };
    const told = refusal(await send('POST /api/owners', body));
    expect(told).toMatchObject({ status: 422, pointers: ['/secret', '/name', '/rank', '/lid/color'] });
  });

  it('comes before what it refers to, and that before conflicts', async () => {
    const { a, b } = await cast();
    const body = { boss: { id: b, name: 'z' }, friend: { id: 99_999_999 } };
    expect(refusal(await send(`PUT /api/owners/${a}`, { ...body, level: 1 })).pointers).toEqual(['/level']);
    expect(refusal(await send(`PUT /api/owners/${a}`, body))).toMatchObject({ status: 422, pointers: ['/friend/id'] });
    expect(refusal(await send(`PUT /api/owners/${a}`, { boss: body.boss }))).toMatchObject({
      status: 409,
      pointers: ['/boss/name'],
    });
  });

  it('names a record that may only be linked and is not there, not what the body says inside it', async () => {
    const { a, b, thing, tag } = await cast();
    const bodies: readonly (readonly [object, readonly string[]])[] = [
      [{ friend: { rank: 900 } }, ['/boss/friend']],
      [{ friend: { rank: 900, things: [{ id: thing }, { name: 'new' }], tags: [{ id: tag }] } }, ['/boss/friend']],
      [{ lid: { color: 'x' } }, ['/boss/lid', '/boss/lid/color']],
    ];
    for (const [said, told] of bodies)
      expect(refusal(await send(`PUT /api/owners/${a}`, { boss: { id: b, ...said } }))).toMatchObject({
        status: 409,
        pointers: told,
      });
  });

  it('quotes no value that is sensitive', async () => {
    const { a } = await cast();
    for (const [request, sent] of [
      [`PUT /api/owners/${a}`, { secret: 'guess' }],
      [`PATCH /api/owners/${a}`, { secret: null }],
      ['POST /api/owners', { rank: 999, secret: 'guess' }],
    ] as const) {
      const { status, body } = await send(request, sent);
      expect([status, JSON.stringify(body)]).toEqual([422, expect.not.stringMatching(/hush|guess/)]);
    }
    expect(await send(`PUT /api/owners/${a}`, { secret: 'hush-hush', level: 3 })).toMatchObject({ status: 200 });
  });
});

describe('records that change hands', () => {
  it('of several that want one value, all are named but the one that is there', async () => {
    const [first, second] = [await make('things', { name: 'p' }), await make('things', { name: 'q' })];
    const owner = { rank: (rank += 1), things: [{ name: 'z' }, { id: first, name: 'z' }] };
    expect(refusal(await send(`PUT /api/things/${second}`, { name: 'z', owner }))).toMatchObject({
      status: 409,
      pointers: ['/name', '/owner', '/owner/things/0', '/owner/things/0/name'],
    });
  });

  test('a new owner with an identifier of its own takes a thing that has none', async () => {
    const thing = await make('things', { name: 'free' });
    const given = { id: 70_000, rank: (rank += 1), name: 'o', things: [{ id: thing, owner: { id: 70_000 } }] };
    expect(await send('POST /api/owners', given)).toMatchObject({ status: 201, body: { things: [{ id: thing }] } });
    const another = await make('things', { name: 'free' });
    const short = { id: 70_002, rank: (rank += 1), name: 'o', things: [{ id: another }] };
    expect(await send('POST /api/owners', short)).toMatchObject({ status: 201, body: { things: [{ id: another }] } });
    const tag = await make('tags');
    const tagged = { id: 70_001, rank: (rank += 1), tags: [{ id: tag }] };
    expect(await send('POST /api/owners', tagged)).toMatchObject({ status: 201, body: { tags: [{ id: tag }] } });
  });

  test('a thing goes to another owner with a name that is taken only where it was', async () => {
    const { a, b, thing } = await cast();
    const moved = { name: 'y', owner: { id: b } };
    expect(await send(`PUT /api/things/${thing}`, moved)).toMatchObject({ status: 200 });
    expect(await send(`PUT /api/things/${thing}`, { name: 'y', owner: { rank: (rank += 1) } })).toMatchObject({
      status: 200,
    });
    expect(refusal(await send(`PUT /api/things/${thing}`, { owner: { id: a } }))).toMatchObject({
      status: 409,
      pointers: expect.arrayContaining(['/owner', '/name']),
    });
  });

  test('two records swap what must be unique', async () => {
    const { a, b, thing, other } = await cast();
    await send(`PUT /api/owners/${a}`, { code: `a${a}`, friend: { id: b, code: `b${b}` } });
    const ranks = [(await send(`GET /api/owners/${a}`)).body, (await send(`GET /api/owners/${b}`)).body] as {
      rank: number;
    }[];
    const swapped = {
      code: `b${b}`,
      rank: ranks[1]?.rank,
      things: [
        { id: thing, name: 'y' },
        { id: other, name: 'x' },
      ],
      friend: { id: b, code: `a${a}`, rank: ranks[0]?.rank },
    };
    const { status, body } = await send(`PUT /api/owners/${a}?${DEEP}`, swapped);
    expect({ status, body }).toMatchObject({ status: 200, body: swapped });
  });

  test('two owners swap their badges, and a new record takes what another gives up', async () => {
    const { a, b, badge } = await cast();
    const second = await make('badges', { number: 2, holder: { id: b } });
    const swapped = { badge: { id: second }, friend: { id: b, badge: { id: badge } } };
    expect(await send(`PUT /api/owners/${a}`, swapped)).toMatchObject({ status: 200, body: { badge: { id: second } } });
    await send(`PUT /api/owners/${a}`, { code: `c${a}` });
    const freed = { code: null, friend: { rank: (rank += 1), code: `c${a}`, things: [{ name: 'of the new one' }] } };
    expect(await send(`PUT /api/owners/${a}`, freed)).toMatchObject({
      status: 200,
      body: { friend: { code: `c${a}` } },
    });
    const passed = {
      code: `d${a}`,
      tags: [],
      boss: null,
      friend: { rank: (rank += 1), code: `c${a}x`, friend: { id: a, code: `d${a}` } },
    };
    expect(await send(`PUT /api/owners/${a}`, passed)).toMatchObject({ status: 200 });
  });

  test('what another record keeps is a conflict', async () => {
    const { a, b } = await cast();
    await send(`PUT /api/owners/${b}`, { code: `k${b}` });
    expect(
      refusal(await send(`PUT /api/owners/${a}`, { code: `k${b}`, friend: { id: b, name: 'other' } })),
    ).toMatchObject({ status: 409, pointers: ['/code'] });
  });
});
