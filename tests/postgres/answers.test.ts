/** Values that PostgreSQL stores in a form of its own, and values that its indexes cannot hold. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from '../support/ask.ts';
import { createDatabase } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { onServer, startInstance } from '../support/postgres.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

onServer('a value that is too long for an index', () => {
  it('is a fault of the body', async () => {
    const schemaDirectory = mkdtempSync(join(tmpdir(), 'long-'));
    writeFileSync(
      join(schemaDirectory, 'thing.yaml'),
      'type: Thing\nfields:\n  code: { type: string, unique: true }\n  name: { type: string, index: true, caseless: true }\n  note: { type: string }\nrelations:\n  parts: { kind: hasMany, type: Thing, owned: true }\n',
    );
    const database = await createDatabase('postgres');
    const { url, close } = await startInstance(database.url, { schemaDirectory });
    const expectFault = async (title: string, body: unknown, pointer: string): Promise<void> =>
      expect(await ask(url, title, body)).toMatchObject({
        status: 422,
        body: {
          type: 'urn:problem:invalid-body',
          detail: expect.stringContaining('too long for an index'),
          errors: [{ pointer, code: 'too-long' }],
        },
      });
    try {
      for (const key of ['code', 'name'])
        for (const size of [3000, 10_000]) {
          const long = { [key]: randomBytes(size).toString('hex'), note: 'x'.repeat(30_000) };
          await expectFault('POST /api/things', long, `/${key}`);
          await expectFault('POST /api/things', { parts: [{}, long] }, `/parts/1/${key}`);
          await expectFault('POST /api/things', [{}, long, {}], `/1/${key}`);
          expect((await ask(url, 'POST /api/things', { id: 1 })).status).toBe(201);
          await expectFault('PATCH /api/things/1', long, `/${key}`);
          await expectFault('PATCH /api/things', [{ id: 1, ...long }], `/0/${key}`);
          expect((await ask(url, 'DELETE /api/things/1')).status).toBe(200);
        }
      expect((await ask(url, 'GET /api/things')).body).toEqual([]);
    } finally {
      await close();
      await database.remove();
    }
  });
});

onServer('what has a form of its own in PostgreSQL', () => {
  it.each([
    ['1e-7', '1e-7'],
    ['0.00001', '0.00001'],
    ['1e15', '1000000000000000'],
    ['123456789012345680000', '123456789012345680000'],
    ['1e21', '1e+21'],
    ['5e-324', '5e-324'],
    ['-1.5e-10', '-1.5e-10'],
    ['-2.5e-6', '-0.0000025'],
    ['0.1', '0.1'],
    ['-0.0', '0'],
  ])('the number %s is answered as %s, and a record without columns is made with others', async (sent, told) => {
    const answer = await exchange(own.url, 'POST /api/measures', {
      headers: HEADERS,
      body: `{"value":${sent},"place":{}}`,
    });
    expect([answer.status, answer.text]).toEqual([201, expect.stringContaining(`"value":${told},`)]);
    expect((await exchange(own.url, 'GET /api/measures/$summary?by=value')).text).toContain(`{"value":${told}}`);
  });

  let own: TestServer;
  const directory = mkdtempSync(join(tmpdir(), 'forms-'));
  beforeAll(async () => {
    writeFileSync(join(directory, 'place.yaml'), 'type: Place\n');
    writeFileSync(
      join(directory, 'measure.yaml'),
      'type: Measure\nfields: { value: { type: number } }\nrelations: { place: { kind: belongsTo, type: Place, nested: write } }\n',
    );
    own = await startTestServer({ schemaDirectory: directory, kind: 'postgres' });
  });
  afterAll(async () => {
    await own?.close();
  });
});

const HEADERS = { 'content-type': 'application/json' };
