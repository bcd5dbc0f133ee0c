/** Faults that `import` reports: each line is checked like a create. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from '../support/ask.ts';
import { databaseKinds, runSql } from '../support/databases.ts';
import { createProject, type Project, type Ran } from '../support/project.ts';

const SCHEMA = {
  'thing.yaml': `type: Thing
fields:
  a: { type: string, maxLength: 5, pattern: '^[a-z]*$', examples: [x] }
  n: { type: integer, minimum: 0, maximum: 9 }
  d: { type: decimal, precision: 4, scale: 2 }
  e: { type: string, enum: [one, two] }
  m: { type: string, format: email }
  t: { type: timestamp }
  b: { type: boolean }
  r: { type: string, readOnly: true }
  u: { type: string, unique: true }
  must: { type: integer, required: true }
  j: { type: any }
  l: { type: array }
  g: { type: timestamp, generated: updatedAt }
  w: { type: string, generated: createdBy }
  o: { type: date, default: now }
checks:
  - must: { n: { gt: { field: must } } }
    when: { b: true }
relations:
  shelf: { kind: belongsTo, type: Shelf }
  above: { kind: belongsTo, type: Thing, acyclic: true }
  tags: { kind: manyToMany, type: Tag, inverse: things }
`,
  'shelf.yaml': 'type: Shelf\nopen: true\nfields: { name: { type: string } }\n',
  'label.yaml': 'type: Label\nfields: { name: { type: string, unique: true, caseless: true, default: Maß } }\n',
  'tag.yaml': 'type: Tag\nrelations: { things: { kind: manyToMany, type: Thing, inverse: tags } }\n',
};

let directory: string;
beforeAll(() => void (directory = mkdtempSync(join(tmpdir(), 'import-'))));
afterAll(() => rmSync(directory, { recursive: true }));
const at = (name: string): string => join(directory, name);

const thing = (fields: string, more = '', identifier: unknown = 1): string =>
  `{"type":"Thing","identifier":${String(identifier)},"fields":{"must":1${fields}},"references":{}${more}}`;

const shelf = (open: string): string =>
  `{"type":"Shelf","identifier":1,"fields":{},"references":{},"open":${JSON.stringify(open)}}`;

function writeLines(lines: readonly (string | Buffer)[], count = lines.length): void {
  const parts = [`{"format":1,"lines":${count}}`, ...lines].flatMap((line) => [Buffer.from(line), Buffer.from('\n')]);
  writeFileSync(at('in'), Buffer.concat(parts));
}

const injection = `1); select pg_read_file('/etc/passwd'); --`;

/** A line, and how its fault is told. */
const refused: readonly (readonly [line: string | Buffer, message: string | RegExp])[] = [
  [thing(',"a":"toolong"'), '/fields/a: "a" must be a string of at most 5 characters that matches ^[a-z]*$'],
  [thing(',"n":"5"'), '/fields/n: "n" must be an integer from 0 to 9, or null'],
  [thing(',"d":"1.234"'), '/fields/d: "d" must be a decimal'],
  [thing(',"e":"three"'), '/fields/e: "e" must be one of "one", "two", or null'],
  [thing(',"e":"Two"'), '/fields/e: "e" must be one of "one", "two", or null; did you mean "two"?'],
  [thing(',"e":[{"toString":[]}]'), '/fields/e: "e" must be one of "one", "two", or null'],
  [thing(',"m":"nobody"'), '/fields/m: "m" must be a string of format email'],
  [thing(',"t":"2024-02-30T00:00:00Z"'), '/fields/t: '],
  [thing(',"g":"now"'), '/fields/g: '],
  [thing(',"must":null').replace('"must":1,', ''), '/fields/must: '],
  [thing(',"b":true,"n":1'), '/fields/n: "n" must be more than "must" if "b" is true (--unchecked reads it as it is)'],
  [thing(',"mist":1'), '/fields/mist: Unknown key "mist"; did you mean "must"?'],
  [thing('').replace('"must":1', ''), '/fields/must: "must" is required'],
  [thing(',"j":"\\ud800"'), '/fields/j: The string contains half of a surrogate pair'],
  [thing(',"j":"\\u0000"'), '/fields/j: The string contains U+0000'],
  [thing(',"j":{"__proto__":1}'), '/fields/j/__proto__: The key "__proto__" is reserved'],
  [thing(',"j":{"a":1,"a":2}'), '/fields/j/a: The line is not valid JSON: the key "a" is repeated, at column'],
  [thing(`,"j":${'['.repeat(1200)}${']'.repeat(1200)}`), 'nested deeper than 1000 levels'],
  [thing(`,"j":${'['.repeat(2_000_000)}`), 'nested deeper than 1000 levels'],
  [thing('', '', 0), '/identifier: "identifier" must be an identifier: an integer from 1 to 2^53-1'],
  [thing('', '', 2 ** 53), '/identifier: '],
  [thing('', ',"more":1'), '/more: Unknown key "more"'],
  [thing('', ',"open":"{\\"a\\":1}"'), '/open: '],
  [thing('').replace('"references":{}', '"references":{"shelf_id":"1"}'), '/references/shelf_id: '],
  [thing('').replace('"references":{}', '"references":{"shelf_id":7}'), '/references/shelf_id: There is no Shelf 7'],
  [thing('').replace('"references":{}', '"references":{"tag_id":7}'), '/references/tag_id: Unknown key "tag_id"'],
  [thing('').replace(',"references":{}', ''), '/references: "references" is required'],
  [thing('').replace('Thing', 'Ting'), '/type: No descriptor declares the type "Ting"; did you mean "Thing"?'],
  [thing('').replace('"Thing"', '{}'), '/type: "type" must be a name'],
  [shelf('{"a":1'), '/open: The text is not valid JSON'],
  [shelf('[]'), '/open: The text must be a JSON object, not an array'],
  [shelf('{"name":1}'), '/open/name: "name" is a field, a relation or the identifier'],
  [shelf('{"a":"\\u0000"}'), '/open/a: '],
  [`{"sequence":"Thing","last":"${injection}"}`, '/last: "last" must be an identifier'],
  [`{"sequence":"Thing","last":9223372036854775807}`, '/last: '],
  [`{"sequence":"${injection}","last":1}`, '/sequence: No descriptor declares the type'],
  [`{"seed":"Nothing","identifier":1}`, '/seed: No descriptor declares the type "Nothing"'],
  [`{"seed":"Thing","identifier":"1"}`, '/identifier: '],
  [`{"pair":"nothing","left":1,"right":1}`, '/pair: No descriptor declares the join table "nothing"'],
  [`{"pair":"things_tags","left":1,"right":2}`, /\/(pair|left|right): (There is no|No descriptor)/],
  ['{}', ': The line must be an object with one of the keys'],
  ['[]', ': The line must be a JSON object, not an array'],
  ['null', ': The line must be a JSON object, not null'],
  ['{"type":', ': The line is not valid JSON: expected a value, the text ends, at column 9'],
  ['\0\0\0', ': The line is not valid JSON'],
  [Buffer.from([0x7b, 0xff, 0x7d]), ': The line is not valid UTF-8'],
];

describe.each(databaseKinds)('into %s', (kind) => {
  let project: Project;
  beforeAll(async () => void (project = await createProject(SCHEMA, undefined, kind)));
  afterAll(() => project.remove());

  const run = (...options: readonly string[]): Promise<Ran> => project.run('import', at('in'), ...options);
  const things = (): Promise<unknown> =>
    project.serving(async (url) => (await ask(url, 'GET /api/things?include=')).body);

  it.each(refused.map(([line, message]) => [String(line).slice(0, 100), line, message] as const))(
    '%s is refused, with its line',
    async (_, line, message) => {
      writeLines([line]);
      const { code, err, out } = await run();
      const end = typeof message === 'string' ? message.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&') : message.source;
      expect([code, out, err]).toEqual([1, '', expect.stringMatching(new RegExp(`^Line 2 ?[^\n]*${end}`))]);
      expect(err.split('\n')).toHaveLength(2);
      expect(err).toMatch(/\n.+: 1 fault\. Nothing was changed\.$/);
    },
  );

  it('a record that breaks a check is read where that is asked for', async () => {
    writeLines([thing(',"b":true,"n":1')]);
    expect((await run('--unchecked')).err).toBe('');
    expect(await things()).toMatchObject([{ b: true, n: 1, must: 1 }]);
    await project.remove();
    project = await createProject(SCHEMA, undefined, kind);
  });

  it('all faults are reported with their lines, and nothing is changed', async () => {
    const bad = thing(',"n":10,"d":"x"', '', 2);
    writeLines(
      [thing(',"u":"same"'), '', bad, thing(',"u":"same"', '', 3), thing('', '', 3), thing('', '', 1), bad],
      6,
    );
    const told = [
      [4, '/fields/n: "n" must be an integer from 0 to 9, or null'],
      [4, expect.stringMatching(/^\/fields\/d: "d" must be a decimal/)],
      [5, '/fields/u: Thing 1 has this value of "u" already'],
      [7, '/identifier: Thing 1 is in the file twice'],
      [8, expect.stringMatching(/^\/fields\/n: /)],
      [8, expect.stringMatching(/^\/fields\/d: /)],
    ];
    const { code, err } = await run('--report', at(`ordered-${kind}`));
    const lines = err.split('\n').slice(0, -1);
    const parts = lines.map((line) => /^Line (\d+) (.*)$/.exec(line) ?? []);
    expect([code, parts.map(([, number, fault]) => [Number(number), fault])]).toEqual([1, told]);
    const reported = readFileSync(at(`ordered-${kind}`), 'utf8')
      .trimEnd()
      .split('\n');
    expect(reported.map((line) => (JSON.parse(line) as { line: number }).line)).toEqual([4, 4, 5, 7, 8, 8]);
    expect(await things()).toEqual([]);
  });

  const LEFT_OUT = 'A trigger, rule or index of the database left the record out';
  it.each([
    ['raises', `raise(abort, 'Not five')`, `raise 'Not five'`, 'Not five'],
    ['skips the row', 'raise(ignore)', 'return null', LEFT_OUT],
  ])('a trigger of others that %s is told with its line', async (_how, onSqlite, onPostgres, says) => {
    await project.starts();
    await runSql(
      project.database,
      kind === 'sqlite'
        ? `create trigger theirs before insert on things when new.n = 5 begin select ${onSqlite}; end`
        : `create function theirs() returns trigger language plpgsql as $$ begin ${onPostgres}; end $$;
          create trigger theirs before insert on things for each row when (new.n = 5) execute function theirs()`,
    );
    writeLines(Array.from({ length: 5 }, (_, index) => thing(`,"n":${index + 1}`, '', index + 1)));
    const { code, err } = await run();
    expect([code, err.split('\n')[0]]).toEqual([1, `Line 6: ${says}`]);
    await project.remove();
    project = await createProject(SCHEMA, undefined, kind);
  });

  it('shows a hundred faults; --report writes all of them', async () => {
    const lines = Array.from({ length: 2500 }, (_, index) => thing(',"n":-1', '', index + 1));
    writeLines([...lines, thing('', '', 3000), thing('').replace('{}', '{"shelf_id":5}')]);
    const { err } = await run();
    expect(err.split('\n')).toHaveLength(101);
    expect(err).toContain('100 faults; the rest was not read, --report FILE writes all faults');
    const reported = await run('--report', at(`report-${kind}`));
    expect([reported.code, reported.err]).toEqual([
      1,
      expect.stringContaining(`2501 faults, all of them in ${at(`report-${kind}`)}`),
    ]);
    const faults = readFileSync(at(`report-${kind}`), 'utf8')
      .trimEnd()
      .split('\n');
    expect(faults).toHaveLength(2501);
    expect(JSON.parse(faults[1] ?? '')).toEqual({
      line: 3,
      pointer: '/fields/n',
      code: 'minimum',
      message: '"n" must be an integer from 0 to 9, or null',
    });
    expect(JSON.parse(faults.at(-1) ?? '')).toMatchObject({ line: 2503, pointer: '/references/shelf_id' });
    expect(statSync(at(`report-${kind}`)).mode & 0o777).toBe(0o600);
    expect(await run('--report', at(`report-${kind}`))).toMatchObject({
      code: 1,
      err: expect.stringContaining('already exists'),
    });
    expect(await run('--report', at(`report-${kind}`), '--force')).toMatchObject({ code: 1 });
  });

  it('a line that is too long is refused, and the next one is read', async () => {
    const long = Buffer.alloc(17 * 1024 * 1024, 'x');
    writeLines([long, thing(',"n":-1')]);
    const { err } = await run();
    expect(err.split('\n').slice(0, 2)).toEqual([
      'Line 2: The line is longer than 16777216 bytes, 16 times BODY_LIMIT; raise that to read it',
      'Line 3 /fields/n: "n" must be an integer from 0 to 9, or null',
    ]);
  });

  describe('what is right', () => {
    beforeEach(async () => {
      await project.remove();
      project = await createProject(SCHEMA, undefined, kind);
    });

    it('accepts CRLF, a byte order mark, empty lines and readOnly values; sequences continue after the last identifier', async () => {
      const lines = [
        '\ufeff{"format":1,"lines":3}',
        '',
        thing(',"r":"kept","j":{"b":1,"a":[1.5]},"u":null', '', 5),
        '{"sequence":"Thing","last":41}',
        shelf('{"b":1,"a":"é"}'),
      ];
      writeFileSync(at('in'), lines.map((line) => `${line}\r\n`).join(''));
      expect(await run()).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Read 3 lines') });
      await project.serving(async (url) => {
        expect((await ask(url, 'GET /api/things/5')).body).toMatchObject({ r: 'kept', j: { b: 1, a: [1.5] }, must: 1 });
        expect((await ask(url, 'GET /api/shelves/1')).body).toMatchObject({ b: 1, a: 'é' });
        expect((await ask(url, 'POST /api/things', { must: 1 })).body).toMatchObject({ id: 42 });
        expect((await ask(url, 'POST /api/shelves', {})).body).toMatchObject({ id: 2 });
      });
      expect(await run()).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^The database has records of \w+ already/),
      });
    });

    it('JSON text survives export and import unchanged', async () => {
      const text = '{"2":12345678901234567890,"1":[9007199254740993,1e999,1.50,"\\u00e9"],"b":null}';
      const open = '{"9":1e999,"10":12345678901234567890}';
      writeLines([thing(`,"j":${text.replace(',', ' , ')},"l":[1.0]`), shelf(open)]);
      expect(await run()).toMatchObject({ code: 0, err: '' });
      expect(await project.run('export', at(`out-${kind}`), '--force')).toMatchObject({ code: 0 });
      const written = readFileSync(at(`out-${kind}`), 'utf8');
      expect(written).toContain(`"j":${text},"l":[1.0]`);
      expect(written).toContain(`"open":${JSON.stringify(open)}`);
    });

    it('reads an export of an earlier build; times come out in UTC', async () => {
      const earlier = 'tests/fixtures/earlier';
      const fresh = await createProject({}, `${earlier}/schema`, kind);
      expect(await fresh.run('import', `${earlier}/export.ndjson`)).toMatchObject({ code: 0, err: '' });
      expect(await fresh.run('export', at(`out-${kind}`), '--force')).toMatchObject({ code: 0 });
      expect(readFileSync(at(`out-${kind}`), 'utf8')).toBe(
        readFileSync(`${earlier}/export.ndjson`, 'utf8').replace(
          '2024-02-29T23:59:59.999+14:00',
          '2024-02-29T09:59:59.999Z',
        ),
      );
      await fresh.remove();
    });
  });
});
