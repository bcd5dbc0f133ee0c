/** The guide is made from the schema that is served, and its examples run as they stand. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { guideText } from '../../engine/pages/guide.ts';
import { readExamples, replay } from '../support/examples.ts';
import { loadModel } from '../support/model.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const BASE = 'http://127.0.0.1:3000';
const OPEN = { guarded: false, dialects: ['json-server', 'simple-rest'], agents: true } as const;

describe.each(['schema', ...['dialects', 'http', 'sets', 'nested', 'ledgers'].map((name) => `tests/fixtures/${name}`)])(
  '%s',
  (schemaDirectory) => {
    const examples = readExamples(guideText(loadModel(schemaDirectory), OPEN, BASE), schemaDirectory);
    let server: TestServer;
    beforeAll(async () => {
      server = await startTestServer({ schemaDirectory });
    });
    afterAll(() => server.close());

    test(`its ${examples.length} examples, in their order`, async () => {
      for (const example of examples) {
        const { status, body } = await replay(server.url, example);
        expect([example.title, status < 300]).toEqual([example.title, true]);
        if (example.answer !== undefined) expect(body).toEqual(example.answer);
      }
      expect(examples.length).toBeGreaterThan(3);
    });
  },
);

test('names the address, authentication and every type of the model', () => {
  const model = loadModel('schema');
  const guarded = guideText(
    model,
    { ...OPEN, guarded: true, dialects: ['simple-rest'] },
    'https://shop.example/records',
  );
  for (const text of [
    '## Authentication',
    `-H 'Authorization: Bearer TOKEN' 'https://shop.example/records/api/tax-classes'`,
    '/api/shipping-markups` | list, get, create, update, delete | `markup_id`',
    'https://shop.example/records/simple-rest',
    '## Filter and sort',
  ])
    expect(guarded).toContain(text);
  expect(guarded).not.toContain('json-server');
  expect(guideText(model, OPEN, BASE)).toContain('needs no tokens');
});

test('without a token it says how to get on, and nothing of the types', () => {
  const locked = guideText({ types: new Map(), joinTables: [] }, { ...OPEN, guarded: true }, BASE);
  expect(locked).toContain('Enter a token');
  expect(locked).not.toContain('## Record types');
});
