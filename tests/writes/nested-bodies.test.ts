/** Bodies that reach one record in several ways, everything wrong with a body at once and in its order, values that change hands. */
import type { JsonObject } from '../../engine/json/json.ts';
import { exchange } from '../support/exchange.ts';
import { type Answer, ask } from '../support/ask.ts';
import { useServer } from '../support/server.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/nested' });
let rank = 0;
const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
const DEEP = 'include=things.owner,badge.holder,tags.owners,friend,boss,lid';

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
  /** Each body of PUT /api/owners/{a}, and the second of the places that contradict each other. */
  it.each([
    '{"name":"p","things":[{"id":$thing,"owner":{"id":$a,"name":"q"}}]} => /things/0/owner/name',
    '{"boss":{"id":$b,"name":"b"},"things":[{"id":$thing,"owner":{"id":$a,"boss":{"id":$b,"name":"c"}}}]} => /things/0/owner/boss/name',
    '{"things":[{"id":$thing,"price":"1.5"}],"badge":{"id":$badge,"holder":{"id":$a,"things":[{"id":$thing,"price":"1.50"}]}}} => /badge/holder/things/0/price',
    '{"things":[{"id":$thing}],"badge":{"id":$badge,"holder":{"id":$a,"things":[{"id":$other}]}}} => /badge/holder/things',
    '{"friend":{"id":$b},"things":[{"id":$thing,"owner":{"id":$a,"friend":null}}]} => /things/0/owner/friend',
    '{"things":[{"id":$thing}],"friend":{"id":$b,"things":[{"id":$thing}]}} => /friend/things/0',
    '{"badge":{"id":$badge},"friend":{"id":$b,"badge":{"id":$badge}}} => /friend/badge',
    '{"tags":[],"friend":{"id":$b,"tags":[{"id":$tag,"owners":[{"id":$b}]}]}} => none',
    '{"tags":[{"id":$tag}],"friend":{"id":$b,"tags":[{"id":$tag,"owners":[{"id":$b}]}]}} => /friend/tags/0/owners',
  ])('%s', async (row) => {
    const [template = '', place = ''] = row.split(' => ');
    const names = await cast();
    const path = `/api/owners/${names.a}?${DEEP}`;
    const before = (await send(`GET ${path}`)).body;
    const body = template.replaceAll(/\$(\w+)/g, (_, name: keyof Cast) => String(names[name]));
    const told = refusal(await send(`PUT ${path}`, JSON.parse(body)));
    if (place === 'none') return expect(told.status).toBe(200);
    expect(told).toMatchObject({ status: 422, pointers: [place], codes: ['contradiction'] });
    return expect((await send(`GET ${path}`)).body).toEqual(before);
  });
});

describe('a new record that names others by their identifiers alone', () => {
  const nine = JSON.stringify(Array.from({ length: 9 }, (_, index) => ({ name: `n${index}` })));
  const all = (): Promise<readonly unknown[]> =>
    Promise.all(['owners', 'things', 'tags', 'badges'].map(async (path) => (await send(`GET /api/${path}`)).body));

  /** Each body of POST /api/owners, the status, and the pointer of its fault. */
  it.each([
    '{"friend":{"id":$b},"boss":{"id":$a},"things":[{"name":"n"},{"name":"m"}],"tags":[{"id":$tag},{"word":"n"}],"lid":{"color":"c"}} => 201',
    '{"friend":{"rank":901,"friend":{"rank":902,"boss":{"id":$b}},"things":[{"name":"n"}]},"badge":{"number":2}} => 201',
    `{"boss":{"id":$b},"things":${nine}} => 201`,
    '{"boss":{"id":$long},"things":[{"name":"n"}]} => 201',
    '{"friend":{"id":99999999},"things":[{"name":"n"}]} => 422 /friend/id',
    '{"friend":{"id":-1},"things":[{"name":"n"}]} => 422 /friend/id',
    '{"tags":[{"word":"n"},{"id":99999999}]} => 422 /tags/1/id',
    '{"boss":{"id":$b},"things":[{"name":"n"},{"name":"n"}]} => 409 /things/1/name',
    '{"friend":{"rank":903},"boss":{"id":$b},"code":"$code"} => 409 /code',
  ])('%s', async (row) => {
    const [template = '', expected = ''] = row.split(' => ');
    const code = `taken ${rank}`;
    const names = { ...(await cast()), code, long: await make('owners', { data: 'x'.repeat(40_000), code }) };
    const before = await all();
    const body = template.replaceAll(/\$(\w+)/g, (_, name: keyof typeof names) => String(names[name]));
    const answer = await send('POST /api/owners', { rank: (rank += 1), ...JSON.parse(body) });
    const { status, pointers } = refusal(answer);
    expect([status, ...pointers].join(' ')).toBe(expected);
    if (status !== 201) return expect(await all()).toEqual(before);
    const { id } = answer.body as JsonObject;
    return expect(answer.body).toEqual((await send(`GET /api/owners/${String(id)}`)).body);
  });
});

describe('everything that is wrong with a body', () => {
  const faulty = (thing: number): object => ({
    tags: [{ id: 1, word: 7 }],
    secret: 'seen',
    id: 987_654,
    things: [{ id: thing, name: 1 }],
    level: 4,
    unheard: true,
    friend: { rank: 5, level: 9 },
    lid: {},
  });
  const pointers = '/tags/0/word /secret /id /things/0/name /level /unheard /friend/level'.split(' ');

  it('is reported at once, in the order of the body, before the database is read', async () => {
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

  it('is reported beside strings that cannot be stored, and items that are not records', async () => {
    const { a } = await cast();
    const wrong = { name: '\u0000', secret: 'seen' };
    expect(refusal(await send(`PUT /api/owners/${a}`, wrong)).pointers).toEqual(['/name', '/secret']);
    const items = refusal(await send('PATCH /api/owners', [{ id: a, ...wrong, name: '\ud800' }, 5]));
    expect(items.pointers).toEqual(['/0/name', '/0/secret', '/1']);
    const upserted = refusal(await send('POST /api/owners?on=rank', [{ rank: 7, ...wrong }, null]));
    expect(upserted.pointers).toEqual(['/0/name', '/0/secret', '/1']);
  });

  it('includes faults of new children', async () => {
    const bare = await make('owners');
    const { status, pointers: told } = refusal(await send(`PUT /api/owners/${bare}`, { name: 1, lid: {} }));
    expect({ status, told }).toEqual({ status: 422, told: ['/name', '/lid/color'] });
    expect(refusal(await send(`PUT /api/owners/${bare}`, { lid: {} })).pointers).toEqual(['/lid/color']);
  });

  it('comes before faults of references, and these before conflicts', async () => {
    const { a, b } = await cast();
    const body = { boss: { id: b, name: 'z' }, friend: { id: 99_999_999 } };
    expect(refusal(await send(`PUT /api/owners/${a}`, { ...body, level: 1 })).pointers).toEqual(['/level']);
    expect(refusal(await send(`PUT /api/owners/${a}`, body))).toMatchObject({ status: 422, pointers: ['/friend/id'] });
    expect(refusal(await send(`PUT /api/owners/${a}`, { boss: body.boss }))).toMatchObject({
      status: 409,
      pointers: ['/boss/name'],
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
