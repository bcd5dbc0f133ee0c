/** Faults of roles are reported with file, line and column, and stop the start. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRoles } from '../../engine/access/checks.ts';
import { createBinder } from '../../engine/access/rules.ts';
import { describeType } from '../../engine/describe/describe.ts';
import type { Model } from '../../engine/model/model.ts';
import { seenModel } from '../../engine/model/rights.ts';
import { fieldValueSchema } from '../../engine/openapi/schemas.ts';
import { checkSchema } from '../../engine/validation/check-schema.ts';

const { model } = checkSchema('tests/fixtures/roles/schema');

const faultsOf = (...files: readonly string[]): readonly string[] => {
  if (!model) throw new Error('the schema is faulty');
  return faultsWith(model, ...files);
};

function faultsWith(of: Model, ...files: readonly string[]): readonly string[] {
  const directory = mkdtempSync(join(tmpdir(), 'access-'));
  mkdirSync(directory, { recursive: true });
  for (const [index, text] of files.entries()) writeFileSync(join(directory, `${index}.yaml`), text);
  const { roles, diagnostics } = checkRoles(directory, of);
  expect(roles === undefined).toBe(diagnostics.length > 0);
  return diagnostics.map(({ line, column, code, message }) => `${line}:${column} ${code} ${message}`);
}

test.each([
  ['role: a\nread: { Ordr: true }', '2:9 unknown-type there is no type "Ordr"; did you mean "Order"?'],
  ['role: a\nreed: { Order: true }', '2:1 unknown-key'],
  ['role: a\nread: { Order: 7 }', '2:16 wrong-type'],
  ['role: a\nread: { Order: { were: {} } }', '2:18 unknown-key "Order" has no key "were"; did you mean "where"?'],
  ['role: a\nread: { Order: { only: [notes] } }', '2:25 unknown-field Order has no field or relation "notes"'],
  ['role: a\nread: { Order: { except: [id] } }', '2:27 hidden-identifier'],
  ['role: a\nread: { Order: { only: [note], except: [note] } }', '2:41 repeated-item "note" stands in both'],
  ['role: a\nread: { Order: { where: { stat: open } } }', '2:27 bad-condition Order has no field "stat"; did you mean'],
  [
    'role: a\nread: { Order: { where: { state: opened } } }',
    '2:34 bad-condition "opened" is not a valid value of "state"',
  ],
  ['role: a\nread: { Order: { where: { number: { gt: "7" } } } }', '2:41 bad-condition "7" is not written as'],
  [
    'role: a\nread: { Order: { where: { number: { gtt: 7 } } } }',
    '2:37 unknown-key "number" has no key "gtt"; did you mean "gt"?',
  ],
  [
    'role: a\nread: { Order: { where: { number: null } } }',
    '2:35 wrong-type "number" must be text or a number or true or false or a mapping (keys and values), not nothing; for null, write',
  ],
  ['role: a\nread: { Order: { where: { number: { in: 7 } } } }', '2:41 wrong-type "in" must be a list'],
  [
    'role: a\nread: { Order: { where: { number: { gt: { now: true } } } } }',
    '2:41 bad-condition the time is not a valid value of "number"; expected an integer',
  ],
  [
    'role: a\nread: { Order: { where: { number: { gt: { claims: x } } } } }',
    '2:43 unknown-key "gt" has no key "claims"; did you mean "claim"?',
  ],
  ['role: a\nread: { Order: { to: {} } }', '2:18 unknown-key "Order" has no key "to"; known keys: where, only, except'],
  ['role: a\ndelete: { Order: { set: { note: x } } }', '2:20 unknown-key "Order" has no key "set"; known keys: where'],
  ['role: a\nwrite: { Order: true }\ndelete: { Order: true }', '3:11 repeated-item "Order" stands under "write" too'],
  ['role: a\nscope: all', '2:8 unknown-value the text "all" is not allowed here; expected "none"'],
  ['role: a\nscope: { branch: { claim: b } }\nread: { Tag: true }', '2:1 bad-scope the scope does not hold for Tag'],
  ['role: a\ninclude: [bb]', '2:11 unknown-role there is no role "bb"'],
  ['role: a\ncreate: { Order: { only: [note] } }', '2:11 create-without-required a new Order needs "number"'],
  ['role: a\ncreate: { Order: { set: { state: opened } } }', '2:34 bad-set'],
  ['role: a\nread: { Order: { where: { $any: [] } } }', '2:33 bad-value "$any" needs at least 1 item'],
  ['role: a\nread: { Order: { where: { lines: { $some: {} } } } }', '2:43 bad-value "$some" needs at least 1 key'],
  ['role: a\nread: { Order: { where: { number: { null: 7 } } } }', '2:43 wrong-type "null" must be true or false'],
  ['role: a\nread: { Order: { where: { number: { gt: "7", lt: 9 } } } }', '2:41 bad-condition "7" is not written as'],
  [
    'role: a\nread: { Order: { where: { state: [open] } } }',
    '2:34 wrong-type "state" must be text or a number or true or false or a mapping (keys and values), not a list; for one of',
  ],
])('%s', (text, expected) => {
  expect(faultsOf(text)).toContainEqual(expect.stringContaining(expected));
});

test('history of types that have none, or that the role may not read', () => {
  const files = {
    'order.yaml': 'type: Order\nhistory: true\nrelations: { lines: { kind: hasMany, type: Line, owned: true } }\n',
    'line.yaml': 'type: Line\n',
    'tag.yaml': 'type: Tag\n',
  };
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const { model: recorded } = checkSchema(directory);
  if (!recorded) throw new Error('the schema is faulty');
  const [a, b] = ['role: a\nread: { Order: true }\nhistory: [Order, Line]', "role: b\nhistory: '*'"];
  expect(faultsWith(recorded, a, b)).toEqual([]);
  expect(faultsWith(recorded, 'role: a\nhistory: [Ordr]')).toEqual([
    expect.stringContaining('2:11 unknown-type there is no type "Ordr"; did you mean "Order"?'),
  ]);
  expect(faultsWith(recorded, 'role: a\nhistory: Order')).toEqual([
    expect.stringContaining('2:10 unknown-value the text "Order" is not allowed here; expected "*"'),
  ]);
  expect(faultsWith(recorded, 'role: a\nread: { Tag: true }\nhistory: [Tag]')).toEqual([
    expect.stringContaining('3:11 bad-history Tag has no history'),
  ]);
  expect(faultsWith(recorded, 'role: a\nhistory: [Line]', 'role: c\ninclude: [a]')).toEqual([
    expect.stringContaining('2:11 bad-history the role may not read Line'),
    expect.stringContaining('2:10 bad-history the role may not read Line'),
  ]);
});

test('what a role may send and not read is described beside what it reads', () => {
  if (!model) throw new Error('the schema is faulty');
  const directory = mkdtempSync(join(tmpdir(), 'access-'));
  const text = 'role: a\nread: { Order: { except: [internal_note] } }\nupdate: { Order: true }';
  writeFileSync(join(directory, 'a.yaml'), text);
  const role = checkRoles(directory, model).roles?.get('a');
  const rights = role && createBinder(role, model, () => undefined)({});
  const seen = rights && seenModel(model, rights).types.get('Order');
  const { fields, writeOnly } = seen ? describeType(seen) : {};
  expect(Object.keys(fields as object)).not.toContain('internal_note');
  expect(writeOnly).toEqual({ internal_note: expect.objectContaining({ type: 'string' }) });
  const [field] = seen?.writeOnly?.fields ?? [];
  expect(seen && field && fieldValueSchema(field, seen)['description']).toBe('Internal_note: a string.');
});

test('faults between files', () => {
  const [a, b] = ['role: a\nread: { Order: true }', 'role: b\nread: { Order: { except: [note] } }'];
  expect(faultsOf(a, a)).toEqual([expect.stringContaining('1:7 duplicate-role the role "a" is in ')]);
  expect(faultsOf(a, b, 'role: c\ninclude: [a, b]')).toEqual([
    expect.stringMatching(
      /^2:1 include-conflict for read of Order the included roles differ: .*0\.yaml:2 and .*1\.yaml:2/,
    ),
  ]);
  expect(faultsOf('role: a\ninclude: [b]', 'role: b\ninclude: [a]')).toHaveLength(2);
  const scoped = 'role: s\nscope: { branch: { claim: b } }\nread: { Order: true }';
  expect(faultsOf(a, scoped)).toEqual([expect.stringContaining('1:7 bad-scope other roles have a scope')]);
  expect(faultsOf(`${a}\nscope: none`, scoped)).toEqual([]);
  const both = 'role: c\ninclude: [s, t]';
  expect(faultsOf(scoped, scoped.replace('role: s', 'role: t'), both)).toEqual([]);
  expect(faultsOf(scoped, scoped.replace('role: s', 'role: t').replace('claim: b', 'claim: c'), both)).toEqual([
    expect.stringMatching(/^2:1 bad-scope a role has one scope at most, and this one has .*0\.yaml:2 and .*1\.yaml:2/),
  ]);
  const none = ['s', 't'].map((name) => `role: ${name}\nscope: none\nread: { Order: true }`);
  expect(faultsOf(...none, both, scoped.replace('role: s', 'role: u'))).toEqual([]);
});

test('included entries that agree, and an own entry in place of those that do not', () => {
  const [a, b] = ['role: a\nread: { Order: true, Tag: true }', 'role: b\nread: { Order: false, Tag: true }'];
  expect(faultsOf(a, b, 'role: c\ninclude: [a, b]\nread: { Order: true }')).toEqual([]);
});

test('a condition on types that own each other in a circle', () => {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  const relations = `
relations:
  parent: { kind: belongsTo, type: Folder, inverse: folders }
  folders: { kind: hasMany, type: Folder, inverse: parent, owned: true }
`;
  writeFileSync(join(directory, 'folder.yaml'), `type: Folder\nfields: { name: { type: string } }${relations}`);
  const { model: folders } = checkSchema(directory);
  if (!folders) throw new Error('the schema is faulty');
  expect(faultsWith(folders, 'role: a\nread: { Folder: true }')).toEqual([]);
  expect(faultsWith(folders, 'role: a\nread: { Folder: { where: { name: x } } }')).toEqual([
    expect.stringContaining('2:9 not-supported a condition or scope on Folder'),
  ]);
});
