/** What of a record's sets an answer shows, and how large they may be. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ask } from './support/ask.ts';
import { startTestServer, type TestServer } from './support/server.ts';

describe('a relation that is not shown', () => {
  let server: TestServer;
  let club: string;
  const send = (request: string, body?: unknown): ReturnType<typeof ask> => ask(server.url, request, body);
  const tagOf = async (path: string): Promise<unknown> => (await send(`GET ${path}`)).headers.get('etag');

  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/schemas/not-shown' });
    const body = { name: 'Reds', members: [{ name: 'Ann' }], ground: { place: 'Ayr', gate: { width: 3 } } };
    const made = await send('POST /api/clubs', body);
    expect(made).toMatchObject({ status: 201, body: { id: 1, name: 'Reds' } });
    expect(made.body).not.toHaveProperty('members');
    club = '/api/clubs/1';
  });
  afterAll(() => server.close());

  const plain = { id: 1, name: 'Reds' };
  const members = [{ id: 1, name: 'Ann' }];
  const ground = { id: 1, place: 'Ayr' };

  test.each([
    ['', plain],
    ['?include=', plain],
    ['?fields=name', plain],
    ['?include=members', { ...plain, members }],
    ['?include=members,ground', { ...plain, members, ground }],
    ['?include=ground.gate', { ...plain, ground: { ...ground, gate: { id: 1, width: 3 } } }],
    ['?fields=members.name', { id: 1, members }],
    ['?fields=ground', { id: 1, ground }],
    ['?fields=ground.gate.width', { id: 1, ground: { id: 1, gate: { id: 1, width: 3 } } }],
  ])('GET of %s', async (query, expected) => {
    expect((await send(`GET ${club}${query}`)).body).toEqual(expected);
    expect((await send(`GET /api/clubs${query}`)).body).toEqual([expected]);
  });

  test.each(['', '?include=members', '?fields=ground.gate'])('GET, then PUT of %s changes nothing', async (query) => {
    const before = await send(`GET ${club}?include=members,ground.gate,sponsors`);
    const { body, headers } = await send(`GET ${club}${query}`);
    const put = await send(`PUT ${club}${query}`, body);
    expect(put).toMatchObject({ status: 200, body });
    expect(put.headers.get('etag')).toBe(headers.get('etag'));
    expect((await send(`GET ${club}?include=members,ground.gate,sponsors`)).body).toEqual(before.body);
  });

  test('its changes are in the tag of the view that shows it, and in no other', async () => {
    const [unasked, asked] = [await tagOf(club), await tagOf(`${club}?include=members`)];
    expect((await send(`PATCH ${club}`, { members: [...members, { name: 'Bo' }] })).status).toBe(200);
    expect(await tagOf(club)).toBe(unasked);
    expect(await tagOf(`${club}?include=members`)).not.toBe(asked);
    expect((await send(`PATCH ${club}`, { members: [{ id: 1 }] })).status).toBe(200);
  });

  test('what cannot be changed anywhere is not said to be', async () => {
    expect((await send('POST /api/sponsors', { name: 'Ale' })).status).toBe(201);
    const { status, body } = await send(`PATCH ${club}`, { sponsors: [{ id: 1, name: 'Beer' }] });
    const message = 'Sponsor 1 is only linked here and differs from this: leave the key out';
    expect({ status, body }).toMatchObject({
      status: 409,
      body: { errors: [{ pointer: '/sponsors/0/name', message }] },
    });
  });

  test('lists are filtered and ordered through it', async () => {
    const query = '_cnd[ground.place]=Ayr&_cnd[orderBy]=ground.place';
    expect((await send(`GET /api/clubs?${query}`)).body).toEqual([plain]);
  });
});
