/** The shipped descriptors against the published interface, which stands in tests/interface by hand. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkSchema } from '../../engine/check.ts';
import { type RawDescriptor, readFolder, table } from './descriptors.ts';
import { isShipped } from '../support/shipped.ts';
import {
  answered,
  identifierOf,
  NOTIFICATION_VARIANTS,
  OBJECTS,
  OPEN_TYPES,
  PARTIAL,
  RESOURCES,
} from './specification.ts';

const shipped = readFolder('schema');
const related = readFolder('schema/related');

function descriptorOf(type: string): RawDescriptor {
  const descriptor = shipped.get(type) ?? related.get(type);
  if (!descriptor) throw new Error(`no descriptor of ${type}`);
  return descriptor;
}

test('the descriptors are those of the record types and of what they hold', () => {
  const inside = Object.keys(OBJECTS).filter((type) => !(type in RESOURCES));
  expect([...shipped.keys()]).toEqual(expect.arrayContaining(Object.keys(RESOURCES)));
  expect([...related.keys()]).toEqual(expect.arrayContaining([...inside, ...OPEN_TYPES]));
});

const files = readdirSync('schema', { recursive: true, encoding: 'utf8' }).filter((name) =>
  isShipped(join('schema', name)),
);

test.each(files)('%s tells editors where the grammar is', (name) => {
  const [first = ''] = readFileSync(join('schema', name), 'utf8').split('\n', 1);
  const grammar = /^# yaml-language-server: \$schema=(.+)$/.exec(first)?.[1] ?? '';
  expect(existsSync(join('schema', dirname(name), grammar))).toBe(true);
  expect(grammar).toMatch(/descriptor\.schema\.json$/);
});

test('the descriptors have no fault, and nothing that is worth a warning', () => {
  expect(checkSchema('schema').diagnostics).toEqual([]);
});

test.each(Object.keys(OBJECTS))('%s has the fields of the specification', (type) => {
  expect(table(descriptorOf(type))).toEqual(answered(type));
  expect(descriptorOf(type).open ?? false).toBe(false);
});

test.each(Object.keys(OBJECTS))('%s has them in the order of the specification', (type) => {
  const { fields = {}, relations = {} } = descriptorOf(type);
  const said = Object.keys(OBJECTS[type] ?? {});
  expect(Object.keys(fields)).toEqual(said.filter((name) => name in fields));
  expect(Object.keys(relations)).toEqual(said.filter((name) => name in relations));
});

test.each(OPEN_TYPES)('%s has an identifier and is open', (type) => {
  expect(table(descriptorOf(type))).toEqual({ id: 'integer' });
  expect(descriptorOf(type).open).toBe(true);
});

test.each(Object.entries(RESOURCES))('%s has its operations', (type, { operations }) => {
  expect([...descriptorOf(type).operations].toSorted()).toEqual([...operations].toSorted());
});

test.each([...related.keys()])('%s has no operations of its own', (type) => {
  expect(descriptorOf(type).operations).toEqual([]);
});

test('records are shown whole, but for those that the specification shows in part', () => {
  const partial = [...shipped.values(), ...related.values()].flatMap(({ type, relations = {} }) =>
    Object.entries(relations).flatMap(([name, relation]) =>
      relation.fields ? [[`${type}.${name}`, [identifierOf(relation.type), ...relation.fields]]] : [],
    ),
  );
  expect(Object.fromEntries(partial)).toEqual(PARTIAL);
});

test('Notification has its variants', () => {
  expect(descriptorOf('Notification').variants).toEqual({ default: 'A', omit: NOTIFICATION_VARIANTS });
});
