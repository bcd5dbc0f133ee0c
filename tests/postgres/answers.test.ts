/** Every sample of every field, then lists by every field and operator: each database answers the same. */
import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import type { Field, RecordType } from '../../engine/model/model.ts';
import type { Sent } from '../../engine/suite/client.ts';
import { loadModel } from '../support/model.ts';
import { onServer } from '../support/postgres.ts';
import { openTwins } from '../support/twins.ts';

const FIXTURES = 'tests/fixtures/schemas';
const schemas = ['schema', ...readdirSync(FIXTURES).map((name) => `${FIXTURES}/${name}`)];

onServer('the same answers', () => {
  it.each(schemas)(
    'in %s',
    async (schemaDirectory) => {
      const model = loadModel(schemaDirectory);
      const requests = requestsOf([...model.types.values()]);
      const twins = await openTwins(schemaDirectory, model);
      try {
        expect(twins.benches.map(({ server }) => server.database.kind)).toEqual(['sqlite', 'postgres']);
        await twins.both(async ({ client }) => {
          for (const request of requests) expect((await client.send(request)).status).toBeLessThan(500);
        });
      } finally {
        await twins.close();
      }
    },
    120_000,
  );
});

const HEADERS = { 'content-type': 'application/json' };
const get = (path: string): Sent => ({ method: 'GET', path, headers: {}, text: undefined });
const post = (path: string, body: JsonValue): Sent => ({
  method: 'POST',
  path,
  headers: HEADERS,
  text: JSON.stringify(body),
});

function requestsOf(types: readonly RecordType[]): readonly Sent[] {
  return types
    .filter(({ operations }) => operations.has('list'))
    .flatMap((type): readonly Sent[] => {
      const path = `/api/${encodeURIComponent(type.path)}`;
      const made = type.operations.has('create') ? bodiesOf(type).map((body) => post(path, body)) : [];
      const reads = [...type.fields.values()].filter((field) => field.type.operators.length > 0).flatMap(listsBy);
      return [...made, get(path), ...[...new Set(reads)].map((search) => get(`${path}?${search}`))];
    });
}

function bodiesOf(type: RecordType): readonly JsonObject[] {
  const fields = [...type.fields.values()].filter(({ readOnly }) => !readOnly);
  const plain = (seed: number): JsonObject =>
    Object.fromEntries(fields.map((field) => [field.name, field.type.good(field, seed)]));
  const varied = fields.flatMap((field) =>
    [...field.type.edges(field), ...(field.nullable ? [null] : [])].map((value) => [field.name, value] as const),
  );
  return [plain(1), ...varied.map(([name, value], index) => ({ ...plain(index + 2), [name]: value })), plain(1)];
}

function listsBy(field: Field): readonly string[] {
  const name = encodeURIComponent(field.name);
  const order = ['asc', 'desc'].map((way) => `_cnd[orderBy]=${name}&_cnd[orderBy]=${way}`);
  const pages = order.map((one) => `${one}&_cnd[limit]=1&_cnd[limit]=3`);
  const samples = [field.type.good(field, 1), ...field.type.edges(field)].map((value) =>
    encodeURIComponent(String(value)),
  );
  const operators = field.type.operators.filter((operator) => operator !== 'null' && operator !== 'like');
  const filters = operators.flatMap((operator) =>
    samples.slice(0, 2).map((text) => `_cnd[${name}][${operator}]=${text}`),
  );
  const like = field.type.operators.includes('like') ? [`_cnd[${name}][like]=*S*`, `_cnd[${name}][like]=%25*`] : [];
  return [...order, ...pages, ...filters, ...like, `_cnd[${name}][null]=true`];
}
