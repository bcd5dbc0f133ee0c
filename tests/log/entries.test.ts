/** Rows of the log, which name tables and columns, as entries with the names and rights of today. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_RIGHTS } from '../../engine/model/rights.ts';
import { createEntryReader, entryJson } from '../../engine/storage/log/entries.ts';
import { readModel } from '../support/random-schema.ts';

const SCHEMA = {
  'product.yaml': `type: Product
history: true
open: true
fields:
  cost: { type: string, renamedFrom: price, maxLength: 4 }
  stock: { type: integer, nullable: false, default: 0 }
  secret: { type: string, sensitive: true }
  data: { type: any }
relations:
  category: { kind: belongsTo, type: Category }
  tags: { kind: manyToMany, type: Tag }
  parent: { kind: belongsTo, type: Product }
`,
  'category.yaml': 'type: Category\nidentifier: { type: uuid, name: key }\n',
  'tag.yaml': 'type: Tag\n',
};

const reader = () => {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  for (const [name, text] of Object.entries(SCHEMA)) writeFileSync(join(directory, name), text);
  const model = readModel(directory);
  const product = model?.types.get('Product');
  if (!product) throw new Error('the schema is faulty');
  return createEntryReader([product], ALL_RIGHTS);
};

const shown = (operation: string, was: string | null, is: string | null, unrecorded: string | null = null): unknown => {
  const source = operation.endsWith('link') ? 'products_tags' : 'products';
  const entry = reader().entryOf([5, source, '7', operation, 1_000_000_000_120, 'nora', 'r1', was, is, unrecorded]);
  if (!entry) return undefined;
  const {
    cursor,
    at,
    by,
    request,
    type,
    identifier,
    operation: done,
    ...rest
  } = JSON.parse(entryJson(entry, 'c5', { keys: true, values: true })) as Record<string, unknown>;
  expect({ cursor, at, by, request, type, identifier, done }).toEqual({
    cursor: 'c5',
    at: '2001-09-09T01:46:40.120Z',
    by: 'nora',
    request: 'r1',
    type: 'Product',
    identifier: 7,
    done: operation,
  });
  return rest;
};

test.each([
  [
    'create',
    null,
    '{"cost":"1","category_id":"0198f3c2-0000-7000-8000-000000000001","_open":{"a":1}}',
    { new: { cost: '1', category: { key: '0198f3c2-0000-7000-8000-000000000001' }, a: 1 } },
  ],
  ['delete', '{"stock":3,"_open":{}}', null, { old: { stock: 3 } }],
  ['update', '{"stock":1}', '{"stock":2}', { keys: ['stock'], old: { stock: 1 }, new: { stock: 2 } }],
  // Null is no stock today, 12345 and "12345" no cost.
  ['update', '{"stock":null}', '{"stock":2}', { keys: ['stock'], old: {}, new: { stock: 2 } }],
  ['update', '{"cost":true}', '{"cost":"12345"}', undefined],
  ['update', '{"dropped":1}', '{"dropped":2}', undefined],
  [
    'update',
    '{"_open":{"a":1,"b":2,"stock":9}}',
    '{"_open":{"a":1,"c":3}}',
    { keys: ['b', 'c'], old: { b: 2, c: null }, new: { b: null, c: 3 } },
  ],
  [
    'update',
    '{"category_id":"0198f3c2-0000-7000-8000-000000000001"}',
    '{"category_id":null}',
    { keys: ['category'], old: { category: { key: '0198f3c2-0000-7000-8000-000000000001' } }, new: { category: null } },
  ],
  ['update', '{"secret":"x"}', '{"secret":"y"}', undefined],
  ['link', null, '{"tag_id":4}', { relation: 'tags', related: 4 }],
  ['unlink', '{"tag_id":4}', null, { relation: 'tags', related: 4 }],
  // Erased.
  // Rows of others can have numbers below 1; links of another kind are left out.
  [
    'update',
    '{"parent_id":-5}',
    '{"parent_id":4}',
    { keys: ['parent'], old: { parent: { id: -5 } }, new: { parent: { id: 4 } } },
  ],
  ['update', '{"parent_id":"x"}', '{"parent_id":4}', { keys: ['parent'], old: {}, new: { parent: { id: 4 } } }],
  ['update', null, null, { keys: [] }],
] as const)('%s from %s to %s', (operation, was, is, expected) => {
  expect(shown(operation, was, is)).toEqual(expected);
});

test('confidential fields are named', () => {
  expect(shown('update', '{}', '{}', '["secret","gone"]')).toEqual({
    keys: ['secret'],
    unrecorded: ['secret'],
    old: {},
    new: {},
  });
});

test('values stay as they were written', () => {
  const entry = reader().entryOf([
    1,
    'products',
    '1',
    'create',
    0,
    null,
    null,
    null,
    '{"data":[1.0, 12345678901234567890]}',
    null,
  ]);
  expect(entry?.new?.get('data')).toBe('[1.0,12345678901234567890]');
});
