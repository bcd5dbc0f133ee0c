import { exchange, type Exchanged } from '../support/exchange.ts';
import fc from '../support/fast-check.ts';
import { rawJson } from '../support/raw-json.ts';
import { rowsOf } from '../support/table.ts';
import { useServer } from '../support/server.ts';

const FILES = {
  'row.yaml': `type: Row
path: rows
fields:
  text: { type: string, maxLength: 1000 }
  code: { type: string, unique: true }
  count: { type: integer, minimum: 0 }
  ratio: { type: number }
  price: { type: decimal, precision: 10, scale: 3 }
  on: { type: boolean }
  day: { type: date }
  at: { type: timestamp }
  list: { type: array }
  value: { type: any }
  fixed: { type: string, default: f, readOnly: true }
  changed: { type: timestamp, generated: updatedAt }
relations:
  group: { kind: belongsTo, type: Group, inverse: rows, nested: write }
unique: [[count, group]]
`,
  'group.yaml': `type: Group
path: groups
open: true
fields: { name: { type: string, required: true } }
relations:
  rows: { kind: hasMany, type: Row, inverse: group }
`,
  'fixed.yaml': `type: Fixed
path: fixed
operations: [list, create]
fields: { code: { type: string, unique: true } }
`,
  'locked.yaml': `type: Locked
path: locked
preconditions: required
fields: { code: { type: string, unique: true } }
`,
};

type Headers = Readonly<Record<string, string>>;

const CSV = 'text/csv';
const RUNS = Number(process.env['RUNS'] ?? 25);
const NDJSON = 'application/x-ndjson';

const settings = { batchLimit: 20, bodyLimit: 200_000, bodyKeys: 100, bodyDepth: 10 };
const server = useServer({ files: FILES, settings });

const send = (title: string, type: string, body: string | Buffer, headers: Headers = {}): Promise<Exchanged> =>
  exchange(server.url, title, { headers: { 'content-type': type, ...headers }, body });
const read = (title: string, accept = 'application/json'): Promise<Exchanged> =>
  exchange(server.url, title, { headers: { accept } });
const bodyOf = ({ text }: Exchanged) => JSON.parse(text);
/** Line ends and characters as a row writes them; a double backslash is a single one in the body. */
const unescaped = (row: string): string =>
  row.replaceAll(/\\\\|\\n|\\r|\\u[\dA-F]{4}/g, (found) => (found === '\\\\' ? '\\' : JSON.parse(`"${found}"`)));

async function empty(path: string): Promise<void> {
  const headers = { prefer: 'max-affected=1000' };
  await exchange(server.url, `DELETE /api/${path}?_cnd[id][gt]=0`, { headers });
}

/** Each fault as its line, its place and its code: `2 /1/text nul-character | 3 …`. */
const faultsOf = (answer: Exchanged): string =>
  (bodyOf(answer).errors ?? [])
    .map(
      ({ line = '', pointer, parameter, header, code }: Record<string, unknown>) =>
        `${line} ${pointer ?? parameter ?? header} ${code}`,
    )
    .join(' | ');

beforeEach(async () => {
  await empty('rows');
  await empty('groups');
});

describe('what goes out', () => {
  const text = fc
    .array(
      fc.oneof(
        fc.constantFrom(',', '"', '""', '\r', '\n', '\r\n', ' ', '=1+1', '\uFEFF', 'null', '{}', '1', '-', '\t', ';'),
        fc.string({ unit: 'binary', maxLength: 4 }).map((one) => one.toWellFormed().replaceAll('\0', '')),
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join(''));
  const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values).map((value) => JSON.stringify(value));
  const row = fc.record({
    text: orNull(text),
    count: orNull(fc.nat()),
    ratio: orNull(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
    price: orNull(fc.constantFrom('0', '1.5', '1.50', '-3.125', '9999999')),
    on: orNull(fc.boolean()),
    day: orNull(fc.constantFrom('2024-02-29', '0001-01-01')),
    at: orNull(fc.constantFrom('2024-02-29T23:59:59.999+14:00', '1970-01-01T00:00:00Z')),
    list: fc
      .option(fc.array(rawJson, { maxLength: 3 }).map((items) => `[${items.join(',')}]`))
      .map((one) => one ?? 'null'),
    value: fc.oneof(
      rawJson,
      text.map((one) => JSON.stringify(one)),
      text.map((one) => JSON.stringify(JSON.stringify(one))),
    ),
  });
  const jsonOf = (rows: readonly Record<string, string>[]): string =>
    `[${rows
      .map(
        (one) =>
          `{${Object.entries(one)
            .map(([key, value]) => `"${key}":${value}`)
            .join(',')}}`,
      )
      .join(',')}]`;

  test.each([CSV, NDJSON])('as %s comes in again as it was', async (type) => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 5 }), fc.boolean(), async (rows, unix) => {
        await empty('rows');
        const made = await send('POST /api/rows', 'application/json', jsonOf(rows));
        expect([made.status, made.status === 201 ? '' : made.text]).toEqual([201, '']);
        // What is filled in is of another time.
        const seen = 'fields=id,text,count,ratio,price,on,day,at,list,value,fixed';
        const [json, sent] = [
          await read(`GET /api/rows?${seen}`),
          await read(`GET /api/rows${type === NDJSON ? '?include=' : ''}`, type),
        ];
        await empty('rows');
        // Line ends inside of cells are content.
        const lines = unix && !json.text.includes('\\r') ? sent.text.replaceAll('\r\n', '\n') : sent.text;
        const again = await send('POST /api/rows', type, lines);
        expect([again.status, again.status === 201 ? '' : again.text]).toEqual([201, '']);
        expect((await read(`GET /api/rows?${seen}`)).text).toBe(json.text);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('a table', () => {
  const shown = async (): Promise<unknown> =>
    bodyOf(await read('GET /api/rows?fields=text,count,value,list')).map(
      ({ text, count, value, list }: Record<string, unknown>) => ({ text, count, value, list }),
    );
  const row = (more: object): object => ({ text: null, count: null, value: null, list: null, ...more });

  test.each(
    rowsOf(String.raw`
      count,text\r\n1,a\r\n => [{"count":1,"text":"a"}]
      \uFEFFtext,count\n\uFEFFa,1\n => [{"count":1,"text":"\uFEFFa"}]
      text\r\na\nb\r\n => [{"text":"a"},{"text":"b"}]
      text,count\na, => [{"text":"a"}]
      \n\r\ntext,count\n\na,1\n\r\n\n => [{"text":"a","count":1}]
      "text","count"\n"a","1"\n => [{"text":"a","count":1}]
      text,count\n"",1\n,2\n => [{"text":"","count":1},{"count":2}]
      text,count\n a , 1\n => [{"text":" a ","count":1}]
      text\n=1+1\n => [{"text":"=1+1"}]
      value\n1.0\nx\n"""x"""\nnull\n{ }\n"[1, 2]"\n => [{"value":1},{"value":"x"},{"value":"x"},{"value":"null"},{"value":{}},{"value":[1,2]}]
      text,count\n => []
      text,count\n,\n"",\n => [{"text":""}]
      ,,,\r\n,\ntext,count\n,\na,1\n,,,,\n, => [{"text":"a","count":1}]
    `),
  )('%s is %s', async (body, rows) => {
    const { status, text } = await send('POST /api/rows', `${CSV}; charset=utf-8; header=present`, unescaped(body));
    expect([status, status === 201 ? '' : text]).toEqual([201, '']);
    expect(await shown()).toEqual((JSON.parse(rows) as readonly object[]).map(row));
  });

  test('may have true and false in any case', async () => {
    const words = ['TRUE', 'True', 'true', 'tRuE', 'FALSE', 'False', 'false'];
    expect(
      (await send('POST /api/rows', CSV, `on,value\n${words.map((word) => `${word},${word}`).join('\n')}`)).status,
    ).toBe(201);
    const rows = bodyOf(await read('GET /api/rows?fields=on,value'));
    expect(rows.map(({ on }: { on: boolean }) => on)).toEqual([true, true, true, true, false, false, false]);
    // Where any value may stand, only JSON is not a text.
    expect(rows.map(({ value }: { value: unknown }) => value)).toEqual([
      'TRUE',
      'True',
      true,
      'tRuE',
      'FALSE',
      'False',
      false,
    ]);
  });

  test('goes out with the identifiers of linked records, and comes in again with the links', async () => {
    const { id } = bodyOf(await send('POST /api/groups', 'application/json', '{"name":"g"}'));
    await send('POST /api/rows', CSV, `id,group,count\n901,${id},1\n902,,2\n`);
    const before = await read('GET /api/rows?fields=count,group');
    const whole = await read('GET /api/rows', CSV);
    const chosen = await read('GET /api/rows?fields=count,group.id', CSV);
    expect(whole.text.split('\r\n', 1)[0]).toMatch(/,changed,group$/);
    expect(chosen.text).toBe(`id,count,group\r\n901,1,${id}\r\n902,2,\r\n`);
    expect((await read('GET /api/rows?include=', CSV)).text).not.toContain('group');
    for (const { text } of [whole, chosen]) {
      await empty('rows');
      expect((await send('POST /api/rows', CSV, text)).status).toBe(201);
      expect((await read('GET /api/rows?fields=count,group')).text).toBe(before.text);
    }
  });

  test.each([
    ['rows?fields=count,group', /fields=group\.id is a column of identifiers/],
    ['rows?fields=group.name', /fields=group\.id is a column of identifiers/],
    ['rows?include=group', /fields=group\.id is a column of identifiers/],
    ['groups?fields=rows.id', /rows.* is a set\. Take application\/x-ndjson/],
  ])('cannot hold a record in a cell: %s', async (path, message) => {
    const { status, text } = await read(`GET /api/${path}`, CSV);
    expect([status, text]).toEqual([400, expect.stringMatching(message)]);
  });

  const cells = `${'['.repeat(20)}${']'.repeat(20)}`;
  test.each(
    rowsOf(String.raw`
      txet,count,what\n1,2,3\n => 422 1  unknown-key | 1  unknown-key => Line 1: Unknown column "txet"; did you mean "text"\?
      text,counta,1 => 422 1  unknown-key | 1  unknown-key => did you mean "count"\?
      text,\na,\n => 422 1  unknown-key => Column 2 has no name
      \ntext;count\na;1\n => 400 2  separator => separated by ";"; CSV separates them by commas
      text,count\na\n"b\n\n",1\n"c","2",3\n => 400 2  invalid-csv | 6  invalid-csv => Line 2: The number of cells is 1, but that of the columns in the first line is 2
      text,count\n"ab"c,1\n => 400 2  invalid-csv => a closing quote is followed by other text
      text,count\ra,1\r => 400 1  invalid-csv => a carriage return stands alone
      text,count\na,1\nb\u0000,2\n => 422 3 /1/text nul-character => Line 3: The string contains U\+0000
      text,value\na,"${cells}"\n => 400 2 /0/value${'/0'.repeat(10)} invalid-json => nested deeper than 10 levels
      text,fixed\na,f\nb,g\n => 422 3 /1/fixed read-only => Line 3: "fixed" is read-only
      text,group\na,\nb,99\nc,x\n => 422 4 /2/group type => ^Line 4: "group" must be the id of a record of Group
      text,group\na,0\nb,""\n => 422 2 /0/group type | 3 /1/group type => ^Line 2: "group" must be the id of a record of Group
      text,group\na,99\n => 422 2 /0/group not-found => ^Line 2: There is no Group 99
      text,fixed\na,\n => 422 2 /0/fixed null => ^Line 2: An empty cell is null, but "fixed" must be a string
      text\n${String.raw`a\n`.repeat(21)} => 413   batch-too-large => more than 20 records; .* in parts
    `),
  )('%s is %s, and nothing is written', async (body, faults, detail) => {
    const answer = await send('POST /api/rows', CSV, unescaped(body));
    expect(`${answer.status} ${faultsOf(answer)}`.trim()).toBe(faults);
    expect(bodyOf(answer).detail).toMatch(new RegExp(detail));
    expect(await shown()).toEqual([]);
  });

  test('UTF-16 is refused', async () => {
    const answer = await send('POST /api/rows', CSV, Buffer.from('\uFEFFtext\na\n', 'utf16le'));
    expect([answer.status, faultsOf(answer)]).toEqual([400, '  invalid-csv']);
  });
});

describe('lines', () => {
  test('hold a record each, with all that a record may hold', async () => {
    const body = '\n{"text":"a","value":1e400,"group":{"name":"g","more":1.0}}\r\n\n{"text":"b"}';
    const { status, text } = await send('POST /api/rows', NDJSON, body);
    expect([status, status === 201 ? '' : text]).toEqual([201, '']);
    expect((await read('GET /api/rows?fields=text,value')).text).toMatch(
      /"text":"a","value":1e400\},\{"id":\d+,"text":"b"/,
    );
    expect((await read('GET /api/groups?include=')).text).toContain('"more":1.0');
  });

  const keys = Array.from({ length: 60 }, (_, index) => `"k${index}":1`).join(',');
  test.each(
    rowsOf(String.raw`
      {"text":"a"}\n{"text"}\n\n{,}\n => 400 2 /1 invalid-json | 4 /2 invalid-json => ^Line 2: The line is not valid JSON: expected ":", found "}", at column 8
      {"text":"a"}\n{"text":"a","text":"b"}\n => 400 2 /1/text invalid-json => the key "text" is repeated
      {"text":"a"}\n\n{"txet":"a","count":-1}\n => 422 3 /1/txet unknown-key | 3 /1/count minimum => ^Line 3: Unknown key "txet"; did you mean "text"
      {"text":"a"}\n{"text":"\\u0000"}\n => 422 2 /1/text nul-character => ^Line 2:
      {"text":"a"}\n{"/0":"a"}\n => 422 2 /1/~10 unknown-key => ^Line 2: Unknown key "/0"$
      ${String.raw`{"value":{${keys}}}\n`.repeat(10)} => 413 => more than 420 keys
    `),
  )('%s is %s, and nothing is written', async (body, faults, detail) => {
    const answer = await send('POST /api/rows', NDJSON, unescaped(body));
    expect(`${answer.status} ${faultsOf(answer)}`.trim()).toBe(faults);
    expect(bodyOf(answer).detail).toMatch(new RegExp(detail));
    expect((await read('GET /api/rows')).text).toBe('[]');
  });
});

test.each([
  [CSV, 'code,count\nb,1\na,2\n', 'code,count\nc,3\nb,4\n'],
  [NDJSON, '{"code":"b","count":1}\n{"code":"a","count":2}\n', '{"code":"c","count":3}\n{"code":"b","count":4}\n'],
])('%s with on= changes what is there and makes what is not, in order', async (type, before, after) => {
  const first = await send('POST /api/rows?on=code', type, before);
  expect([first.status, bodyOf(first).map(({ code }: Headers) => code)]).toEqual([200, ['b', 'a']]);
  const second = await send('POST /api/rows?on=code', type, after);
  expect([second.status, second.headers['location'], second.headers['etag']]).toEqual([200, undefined, undefined]);
  expect(bodyOf(second)[1]).toMatchObject({ id: bodyOf(first)[0].id, count: 4 });
  const stored = await read('GET /api/rows?fields=code,count&_cnd[orderBy]=code', CSV);
  expect(stored.text.replaceAll(/(^|\n)\w+,/g, '$1')).toBe('code,count\r\na,2\r\nb,4\r\nc,3\r\n');
});

test.each([
  ['code', 'code,count\n,1\n', /^Line 2: An empty cell is null, but "code" is required: on=/],
  ['code', 'count\n1\n', /^Line 2: "code" is required: on=/],
  ['count,group', 'count,group\n1,\n', /^Line 2: An empty cell is null, but "group" is required: on=/],
])('POST ?on=%s of %j says which cell is empty', async (on, body, detail) => {
  const answer = await send(`POST /api/rows?on=${on}`, CSV, body);
  expect([answer.status, bodyOf(answer).detail]).toEqual([422, expect.stringMatching(detail)]);
});

test.each([
  [CSV, 'code,count\na,1\nb,2\n\na,3\n'],
  [NDJSON, '\n{"code":"a"}\n{"code":"b"}\n\n{"code":"a"}'],
])('two records of %s that are the same by on= are named by their lines', async (type, body) => {
  const { detail, errors } = bodyOf(await send('POST /api/rows?on=code', type, body));
  expect(detail).toBe('Line 5: line 5 and line 2 are the same Row by code; list it once');
  expect(errors[0]).toMatchObject({ line: 5, pointer: '/2/code', code: 'duplicate' });
});

test('a unique value that stands in two lines is told by the other line', async () => {
  const { status, text } = await send('POST /api/rows', CSV, 'code\nx\ny\nx\n');
  expect([status, JSON.parse(text).errors[0]]).toMatchObject([
    409,
    { line: 4, message: expect.stringContaining('line 2') },
  ]);
  expect(JSON.parse(text).detail).not.toMatch(/"\/\d/);
});

test('two lines that contradict each other are told by their numbers', async () => {
  const [{ id }] = bodyOf(await send('POST /api/rows', CSV, 'text\na\n'));
  const lines = ['a', 'b'].map((name) => `\n${JSON.stringify({ name, rows: [{ id }] })}`);
  const { detail } = bodyOf(await send('POST /api/groups', NDJSON, lines.join('')));
  expect(detail).toMatch(/^Line 3: line 3 and line 2 give the same record different values/);
});

test('other media types are refused with a list of the accepted ones', async () => {
  const answer = await send('POST /api/rows', 'text/plain', 'text\na\n');
  expect([answer.status, answer.headers['accept']]).toEqual([415, 'application/json, application/x-ndjson, text/csv']);
  expect((await send('POST /api/rows', 'text/csv; charset=windows-1252', 'text\na\n')).status).toBe(415);
  expect((await send('PUT /api/rows?on=code', CSV, 'code\na\n')).status).toBe(415);
});
