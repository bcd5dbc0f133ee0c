/** What suites consist of: how many cases there are, what they are about. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suiteOf } from '../../engine/suite/suite.ts';
import { loadModel } from '../support/model.ts';

const FIELDS = [
  'code: { type: string, required: true, unique: true, maxLength: 12 }',
  'name: { type: string, required: true }',
  'state: { type: string, enum: [draft, sent], default: draft }',
  'count: { type: integer, minimum: 0, default: 0 }',
  'price: { type: decimal, scale: 2 }',
  'weight: { type: number }',
  'active: { type: boolean, default: true }',
  'due: { type: date }',
  'sent: { type: timestamp }',
  'note: { type: any }',
];

function casesOf(files: Readonly<Record<string, string>>) {
  const directory = mkdtempSync(join(tmpdir(), 'cases-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, `${name}.yaml`), text);
  const cases = suiteOf(loadModel(directory));
  rmSync(directory, { recursive: true });
  return cases;
}

const descriptor = `type: Thing\nfields:\n  ${FIELDS.join('\n  ')}\nrelations:\n  box: { kind: belongsTo, type: Box }\n`;
const cases = casesOf({ thing: descriptor, box: 'type: Box\nfields: { name: { type: string } }\n' });
const titles = cases.filter(({ type }) => type === 'Thing').map(({ title }) => title);

test('a type of ten fields has 30 to 60 cases', () => {
  expect(titles.length).toBeGreaterThanOrEqual(30);
  expect(titles.length).toBeLessThanOrEqual(60);
});

test('about sixty requests are about the service, sent once', () => {
  const once = cases.filter(({ type }) => type === '');
  expect(once.length).toBeGreaterThanOrEqual(55);
  expect(once.length).toBeLessThanOrEqual(75);
});

test.each([
  'POST /api/things with what is required',
  'POST /api/things with every field',
  'POST /api/things with values at the limits of its fields (1)',
  'POST /api/things with bad values of price',
  'POST /api/things without what is required',
  'POST /api/things with null where it is not allowed',
  'POST /api/things with the code of another record',
  'POST /api/things with box: a link, and the list by it',
  'POST /api/things with box: a record that is not there',
  'PATCH /api/things/{id} with box: null',
  'PUT /api/things/{id} with what GET answered',
  'PATCH /api/things/{id} with other values',
  'GET /api/things by due',
  'GET /api/things by due, ascending and descending',
  'DELETE /api/things/{id}',
])('%s', (title) => expect(titles).toContain(title));

test('each case has a title of its own', () => expect(new Set(titles).size).toBe(titles.length));
