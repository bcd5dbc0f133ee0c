import { checkSchema } from '../../engine/validation/check-schema.ts';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { diagnose } from '../../engine/descriptor/source.ts';
import { COUNT_MODES, DEFAULTS, OPERATIONS } from '../../engine/descriptor/descriptor.ts';
import { constraintsOf, fieldWords, grammar, keysOf } from '../../engine/descriptor/grammar.ts';
import { loadDescriptors } from '../../engine/descriptor/load.ts';
import { formatDiagnostics } from '../../engine/descriptor/report.ts';
import { formats } from '../../engine/field-types/formats.ts';
import { fieldTypes } from '../../engine/field-types/registry.ts';
import type { JsonObject } from '../../engine/json/json.ts';
import { type Diagnostic, severities } from '../../engine/diagnostic.ts';

const FAULTY = 'tests/fixtures/faulty';

interface Expected {
  readonly code: string;
  readonly place: string;
  readonly text: string;
}

/**
 * What the comments of a fixture expect: `^` stands below the place in the last line that is no such comment, `#<`
 * below the place itself; then the code and a part of the message.
 */
function expectations(file: string): readonly Expected[] {
  let line = 0;
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text, index) => {
      const [, start = '', code, , part = ''] = /^(\s*#(?:<|\s*\^)) ([a-z-]+)(: (.*))?$/.exec(text) ?? [];
      if (code === undefined) line = index + 1;
      const column = start.endsWith('<') ? start.length - 1 : start.length;
      return code === undefined ? [] : [{ code, place: `${file}:${line}:${column}`, text: part }];
    });
}

const placed = ({ code, file, line, column }: Diagnostic): string => `${file}:${line}:${column} ${code}`;

const filesOf = (directory: string): readonly string[] => readdirSync(directory).map((name) => join(directory, name));

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'descriptors-'))));

function write(files: Readonly<Record<string, string | Uint8Array>>): string {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

const faultsOf = (content: string | Uint8Array): readonly string[] =>
  loadDescriptors(write({ 'one.yaml': content })).diagnostics.map(
    ({ line, column, code }) => `${line}:${column} ${code}`,
  );

describe('faulty schemas: each fault at its place, and no other', () => {
  test.each(readdirSync(FAULTY))('%s', (name) => {
    const directory = join(FAULTY, name);
    const { diagnostics } = checkSchema(directory);
    const expected = filesOf(directory).flatMap(expectations);
    expect(diagnostics.map(placed).toSorted()).toEqual(
      expected.map(({ code, place }) => `${place} ${code}`).toSorted(),
    );
    for (const { code, place, text } of expected) {
      const said = diagnostics.filter((one) => placed(one) === `${place} ${code}`).map(({ message }) => message);
      expect(said).toContainEqual(expect.stringContaining(text));
    }
  });

  test('a descriptor broken in five places has five diagnostics, in the order of the lines', () => {
    const report = formatDiagnostics(loadDescriptors(join(FAULTY, 'five-places')).diagnostics);
    expect(report).toMatchSnapshot();
  });
});

const MANY = 10_000;
const anyField = 'fields: { name: { type: any, default: ';

/** Files that no person wrote: what each gives, at once. */
const hostile: Readonly<Record<string, readonly [string | Uint8Array, readonly string[]]>> = {
  'an empty file': ['', ['1:1 empty-file']],
  'nothing but comments': ['# one\n# two\n', ['1:1 empty-file']],
  'nothing but a null': ['~\n', ['1:1 wrong-type']],
  text: ['hello', ['1:1 wrong-type']],
  'bytes that are no UTF-8': [Uint8Array.of(0x74, 0xff, 0xfe, 0x00), ['1:1 not-text']],
  'U+0000': ['type: A\0', ['1:1 not-text']],
  'UTF-16': [Buffer.from('\uFEFFtype: A\n', 'utf16le'), ['1:1 not-text']],
  'a byte order mark': ['\uFEFFtypo: A\n', ['1:1 unknown-key']],
  'line ends of Windows': ['type: A\r\nfeilds: {}\r\n', ['2:1 unknown-key']],
  '5 MB': ['# comment\n'.repeat(500_000), ['1:1 file-too-large']],
  'a key __proto__': ['type: A\n__proto__: { type: B }\n', ['2:1 unknown-key']],
  'a default with a key __proto__': [`type: A\n${anyField}{ __proto__: { a: 1 } } } }`, []],
  'a key twice, many times': [
    `type: A\n${'fields: {}\n'.repeat(MANY)}`,
    Array.from({ length: 100 }, (_, index) => `${index + 3}:1 duplicate-key`),
  ],
  'a key that is no number of JSON': ['type: A\nopen: true\nseed: [{ id: 1, 1e400: 1 }]\n', ['3:17 not-json']],
  'an alias bomb': [
    `type: A\nopen: true\nseed:\n- { id: 1, a0: &a0 [x] }\n${Array.from({ length: 10 }, (_, level) => `- { id: ${level + 2}, a${level + 1}: &a${level + 1} [${`*a${level}, `.repeat(10)}] }`).join('\n')}`,
    ['8:36 too-many-aliases'],
  ],
  'an alias to itself': ['type: A\nseed: &a [*a]\n', ['2:11 too-many-aliases']],
  'deep lists that are closed': [`type: A\n${anyField}${'['.repeat(200)}${']'.repeat(200)} } }`, ['2:136 not-json']],
  'deep mappings in lines': [
    `type: A\nseed:\n- id: 1\nopen: true\nlist:\n${Array.from({ length: 300 }, (_, index) => `${'  '.repeat(index + 1)}a:`).join('\n')}`,
    ['105:201 not-json', '6:3 unknown-key'],
  ],
  'a broken file with a long line': [`type:${' '.repeat(400_000)}"x\na: [\n`, ['3:1 yaml-syntax']],
  'many unknown keys': [
    `type: A\n${Array.from({ length: MANY }, (_, index) => `key${index}: 1`).join('\n')}`,
    [...Array.from({ length: 100 }, (_, index) => `${index + 2}:1 unknown-key`), '102:1 too-many-faults'],
  ],
  'many fields': [
    `type: A\nfields:\n${Array.from({ length: MANY }, (_, index) => ` field${index}: { type: string }`).join('\n')}\norder: [fild]\n`,
    ['2:1 bad-value', '10003:9 unknown-field'],
  ],
  'a long order': [
    `type: A\norder: [${Array.from({ length: MANY }, (_, index) => `field${index}`).join()}]\n`,
    ['2:8 bad-value'],
  ],
  'a name of 100,000 letters': [`type: ${'a'.repeat(100_000)}\n`, ['1:7 bad-name']],
  'YAML 1.1 and its merge keys': ['%YAML 1.1\n---\ntype: A\n<<: { open: yes }\n', ['4:1 unknown-key']],
  'a tag of a programming language': ["type: A\ndescription: !!js/function 'function () {}'\n", ['2:14 yaml-warning']],
  'controls of a terminal': ['type: "\\e[31mred"\n', ['1:7 bad-name']],
};

describe('hostile files', () => {
  test.each(Object.entries(hostile))('%s', (_name, [content, expected]) => {
    expect(faultsOf(content)).toEqual(expected);
  });

  test('seeds in a long chain of links that ends in a cycle', () => {
    const seeds = Array.from(
      { length: 3000 },
      (_, at) => `- { id: ${at + 1}, up: { id: ${at < 2999 ? at + 2 : 1500} } }`,
    );
    const content = `type: A\nrelations: { up: { kind: belongsTo, type: A } }\nseed:\n${seeds.join('\n')}\n`;
    const { diagnostics } = checkSchema(write({ 'a.yaml': content }));
    expect(diagnostics).toMatchObject([{ line: 3003, code: 'invalid-seed' }]);
  });

  test('deep lists that are not closed', () => {
    // The place depends on the room that the stack leaves.
    expect(faultsOf(`type: A\n${anyField}${'['.repeat(MANY)}`)).toEqual([expect.stringMatching(/^2:\d+ yaml-syntax$/)]);
  });

  test('a pipe, a folder and a dangling link with names of descriptors', () => {
    write({ 'folder.yaml/inner.yaml': 'type: Inner\n', '.hidden.yaml': 'no' });
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link.yaml'));
    symlinkSync(folder, join(folder, 'itself'));
    const { files, diagnostics } = loadDescriptors(folder);
    expect(files.map(({ descriptor }) => descriptor.type)).toEqual(['Inner']);
    expect(diagnostics.map(({ code }) => code)).toEqual(['unreadable-file']);
  });

  test.each([
    ['that is not there', 'nowhere'],
    ['without descriptors', '.'],
    ['that is a file', 'readme.txt'],
  ])('a schema directory %s', (_name, directory) => {
    write({ 'readme.txt': '' });
    const { diagnostics } = loadDescriptors(join(folder, directory));
    expect(diagnostics.map(({ code, line, column }) => ({ code, line, column }))).toEqual([
      { code: 'no-schema', line: 1, column: 1 },
    ]);
  });
});

/** Numbers at their extremes: a part of the message, whose advice is accepted when it is followed; empty if there is none. */
test.each(
  `
type: number, maximum: 1e300                    =>
type: number, minimum: -1e300, default: 1e21    =>
type: number, default: 0x10, examples: [.5, 0o17, -0, 5e-324] =>
type: number, maximum: 99999999999999999999     => read as 100000000000000000000: write that
type: number, maximum: .inf                     => "maximum" must be a number, not Infinity
type: number, default: .nan                     => does not accept NaN; expected a number
type: number, default: "1e400"                  => expected a number
type: number, default: "0b1"                    => write it without quotes: 1
type: any, default: 1e400                       => JSON has no NaN, and no number beyond 1.7976931348623157e+308
type: integer, default: 1e15, examples: [-0, 1e2, 1.0] =>
type: integer, maximum: 1e21                    => "maximum" must be at most 9007199254740991
type: integer, minimum: -1e300                  => "minimum" must be at least -9007199254740991
type: integer, maximum: 99999999999999999999    => "maximum" must be at most 9007199254740991
type: integer, minimum: -.inf                   => a whole number from -9007199254740991 to 9007199254740991, not -Infinity
type: integer, minimum: .nan                    => a whole number from -9007199254740991 to 9007199254740991, not NaN
type: integer, default: "1e21"                  => expected an integer from -9007199254740991 to 9007199254740991
type: integer, default: 1_000                   => "f" does not accept "1_000"; expected an integer from
type: integer, minimum: 1, default: "017"       => write it without quotes: 17
type: integer, minimum: 1, default: "0"         => expected an integer from 1 to 9007199254740991
type: integer, enum: [9007199254740992]         => must be an integer from -9007199254740991 to 9007199254740991
type: decimal, maximum: .5                      => write it in quotes: "0.5"
type: decimal, maximum: 1.50                    => write it in quotes: "1.50"
type: decimal, scale: 2, default: 0x10          => write it in quotes: "16"
type: decimal, scale: 2, default: 1e-7          => at most 13 digits before the decimal point and 2 after it
type: decimal, maximum: 99999999999999999999    => write it in quotes: "99999999999999999999"
type: decimal, precision: "16"                  => "precision" must be a whole number from 1 to 15, not the text "16"
type: decimal, precision: 1e2                   => "precision" must be at most 15
type: decimal, scale: .inf                      => "scale" must be a whole number from 0 to 15, not Infinity
type: string, minLength: 1e9                    => "minLength" must be at most 10000
type: string, maxLength: 1e21                   => "maxLength" must be at most 9007199254740991
type: array, minItems: 1e9                      => "minItems" must be at most 10000
type: array, maxItems: "-1"                     => "maxItems" must be a whole number from 0 to 9007199254740991, not the text "-1"
`
    .trim()
    .split('\n')
    .map((row) => row.split(/ +=> ?/)),
)('%s', (field, expected = '') => {
  const { diagnostics } = checkSchema(write({ 'one.yaml': `type: A\nfields:\n  f: { ${field} }\n` }));
  const [first, ...others] = diagnostics.map(({ message }) => message);
  expect(others).toEqual([]);
  if (expected === '') expect(first).toBeUndefined();
  else expect(`${first};`).toContain(expected);
});

test('every code of the catalogue is raised by some fixture, and no other', () => {
  const ofFixtures = readdirSync(FAULTY).flatMap((name) => checkSchema(join(FAULTY, name)).diagnostics);
  const ofHostile = Object.values(hostile).flatMap(([, expected]) => expected.map((one) => one.split(' ')[1]));
  // Raised above by directories and links, and in tests/access/role-faults.test.ts.
  const ofRoles = ['bad-condition', 'bad-history', 'bad-scope', 'bad-set', 'create-without-required', 'duplicate-role'];
  const more = ['include-conflict', 'not-supported', 'unknown-role'];
  const elsewhere = ['no-schema', 'unreadable-file', ...ofRoles, ...more];
  const raised = new Set([...ofFixtures.map(({ code }) => code), ...ofHostile, ...elsewhere]);
  expect([...raised].toSorted()).toEqual(Object.keys(severities).toSorted());
  for (const { code, severity } of ofFixtures) expect(severity).toBe(severities[code]);
});

describe('sound schemas have no fault', () => {
  test('the shipped one', () => {
    const { files, diagnostics } = loadDescriptors('tests/fixtures/store');
    expect(diagnostics).toEqual([]);
    expect(files.map(({ file }) => file)).toContain('tests/fixtures/store/tax-class.yaml');
  });

  test.each(
    Object.entries({
      'nothing but a type': { 'a.yml': 'type: A\n' },
      'nearly names of Object.prototype': {
        'a.yaml': 'type: Constructor\nfields: { tostring: { type: any }, hasOwn: { type: string } }\norder: [hasOwn]\n',
      },
      'words of SQL and Unicode': {
        'a.yaml':
          'type: Größe\npath: groessen\nfields: { select: { type: string }, 名前: { type: string } }\nunique: [[select, 名前]]\n',
      },
      'one side of a pair says it': {
        'a.yaml': 'type: A\nrelations:\n  bs: { kind: hasMany, type: B, inverse: a }\n',
        'b.yaml': 'type: B\nrelations:\n  a: { kind: belongsTo, type: A }\n',
      },
      'two relations to the same type': {
        'a.yaml':
          'type: A\nrelations:\n  sent: { kind: hasMany, type: B, inverse: from }\n  got: { kind: hasMany, type: B, inverse: to }\n',
        'b.yaml': 'type: B\nrelations:\n  from: { kind: belongsTo, type: A }\n  to: { kind: belongsTo, type: A }\n',
      },
      'many to many with itself, both sides named': {
        'a.yaml':
          'type: A\nrelations:\n  uses: { kind: manyToMany, type: A, inverse: used_by }\n  used_by: { kind: manyToMany, type: A }\n',
      },
      'a tree': {
        'a.yaml':
          'type: A\nrelations:\n  parent: { kind: belongsTo, type: A }\n  children: { kind: hasMany, type: A, inverse: parent }\n',
      },
      'a cycle that can begin': {
        'a.yaml': 'type: A\nrelations:\n  b: { kind: belongsTo, type: B, required: true }\n',
        'b.yaml': 'type: B\nrelations:\n  a: { kind: belongsTo, type: A }\n',
      },
      'aliases for what fields share': {
        'a.yaml':
          'type: A\nfields:\n  one: &price { type: decimal, precision: 14, scale: 2, default: "0" }\n  two: *price\n',
      },
    }),
  )('%s', (_name, files) => {
    expect(loadDescriptors(write(files)).diagnostics).toEqual([]);
  });
});

test('later stages point into the YAML', () => {
  const { files } = loadDescriptors(
    write({ 'a.yaml': 'type: A\nfields: { name: { type: string } }\nseed:\n  - { id: 1, name: 5 }\n' }),
  );
  const found = files.map((file) =>
    diagnose(file, 'invalid-seed', ['seed', 0, 'name'], 'value', '"name" must be a string'),
  );
  expect(found).toMatchObject([
    {
      code: 'invalid-seed',
      severity: 'error',
      line: 4,
      column: 20,
      frame: '4 |   - { id: 1, name: 5 }\n  |                    ^',
    },
  ]);
});

test('the grammar knows the field types, formats, operations and defaults of the code', () => {
  const types = [...fieldTypes.values()];
  expect(keysOf('fieldWords')['type']?.['enum']).toEqual(types.map(({ name }) => name));
  expect(types.filter(({ operators }) => operators.length > 0).map(({ name }) => name)).toEqual(
    fieldWords.get('unique'),
  );
  expect(types.filter(({ isText }) => isText).map(({ name }) => name)).toEqual(fieldWords.get('caseless'));
  expect(constraintsOf('string')['format']?.['enum']).toEqual(Object.keys(formats));
  const { operations, list, preconditions, open, history } = grammar['properties'] as Record<string, JsonObject>;
  expect(operations).toMatchObject({ items: { enum: [...OPERATIONS] } });
  expect(list).toMatchObject({
    properties: {
      maxLimit: { default: DEFAULTS.maxLimit },
      count: { enum: [...COUNT_MODES], default: DEFAULTS.count },
    },
  });
  expect([preconditions, open, history].map((word) => word?.['default'])).toEqual([
    DEFAULTS.preconditions,
    DEFAULTS.open,
    DEFAULTS.history,
  ]);
});
