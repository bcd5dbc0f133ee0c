/** The guide is made from the schema that is served, and its examples run as they stand. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { guideText } from '../../engine/pages/guide.ts';
import { readExamples, replay } from '../support/examples.ts';
import { loadModel } from '../support/model.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const BASE = 'http://127.0.0.1:3000';
const LIMITS = {
  batchLimit: 1001,
  bodyDepth: 32,
  bodyItems: 30_000,
  bodyKeys: 40_000,
  bodyLimit: 2_000_000,
  maxFilters: 51,
  maxIncludes: 52,
  urlLimit: 8001,
  writeRows: 9001,
};
const OPEN = { guarded: false, dialects: ['json-server', 'simple-rest'], agents: true, limits: LIMITS } as const;

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

test('has the limits of this service', () => {
  const text = guideText(loadModel('schema'), OPEN, BASE);
  for (const row of [
    '| a body | 2,000,000 bytes | 413 |',
    '| items of an array of records | 1,001 | 413 |',
    '| 40,000 keys, 30,000 items in each array, 32 levels |',
    '| a URL | 8,001 characters | 414 |',
    '| filters of a list | 51, in groups up to 3 levels deep | 400 |',
    '| relations that a request shows | 52, up to 4 levels deep | 400 |',
    '| records that a write touches | 9,001 | 422 |',
  ])
    expect(text).toContain(row);
});

test('without a token it says how to get on, and nothing of the types', () => {
  const locked = guideText({ types: new Map(), joinTables: [] }, { ...OPEN, guarded: true }, BASE);
  expect(locked).toContain('Enter a token');
  expect(locked).not.toContain('## Record types');
});
