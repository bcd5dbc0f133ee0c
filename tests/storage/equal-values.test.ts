/** Values that are written differently and are equal: whatever compares them, on either database, sees one value. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, ask } from '../support/ask.ts';
import { databaseKinds } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const FILES = {
  'rate.yaml': `type: Rate
fields:
  price: { type: decimal, precision: 6, scale: 2, unique: true }
  name: { type: string }
  sold: { type: boolean }
unique: [[name, sold]]
relations:
  rest: { kind: belongsTo, type: Rate }
`,
};

interface Fault {
  readonly pointer: string;
  readonly code: string;
}

describe.each(databaseKinds)('%s', (kind) => {
  let project: Project;
  let server: TestServer;
  beforeAll(async () => {
    project = await createProject(FILES, undefined, kind);
    server = await startTestServer({ schemaDirectory: project.directory, kind });
  });
  afterAll(async () => {
    await server?.close();
    await project?.remove();
  });

  const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
  const faultsOf = ({ status, body }: Answer): readonly [number, readonly (readonly [string, string])[]] => [
    status,
    ((body as { errors?: readonly Fault[] }).errors ?? []).map(({ pointer, code }) => [pointer, code]),
  ];

  test('a conflict of two decimals in one body is at its place', async () => {
    const items = [{ price: '1.50' }, { price: '1.5' }];
    expect(faultsOf(await send('POST /api/rates', items))).toEqual([409, [['/1/price', 'unique']]]);
  });

  test('a conflict with a record that the body only links is told', async () => {
    const { body } = await send('POST /api/rates', { price: '2.50' });
    const { id } = body as { id: number };
    const conflict = await send('POST /api/rates', { price: '2.5', rest: { id } });
    expect(faultsOf(conflict)).toEqual([409, [['/price', 'unique']]]);
  });

  test('one record is not listed twice by them', async () => {
    const items = [{ price: '7' }, { price: '7.00' }];
    expect(faultsOf(await send('POST /api/rates?on=price', items))).toEqual([422, [['/1/price', 'duplicate']]]);
  });

  test('records hand truths over', async () => {
    const made = await send('POST /api/rates', [
      { name: 'a', sold: true },
      { name: 'a', sold: false },
    ]);
    const [one, other] = (made.body as readonly { id: number }[]).map(({ id }) => id);
    const swapped = [
      { id: one, sold: false },
      { id: other, sold: true },
    ];
    expect((await send('PATCH /api/rates', swapped)).body).toMatchObject(swapped);
  });
});
