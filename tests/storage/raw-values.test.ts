/** What is kept as JSON is kept as it was written: in `any` and `array` fields and in open keys, whatever way it comes and goes. */
import express from 'express';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '../../engine/index.ts';
import { mergePatch } from '../oracle/values.ts';
import { watchDatabase, type Watch } from '../support/database.ts';
import { createDatabase, databaseKinds } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { createProject } from '../support/project.ts';
import { rawJson, spaced } from '../support/raw-json.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import fc from '../support/fast-check.ts';

const THING = `type: Thing
open: true
fields:
  name: { type: string }
  value: { type: any }
  list: { type: array, default: [] }
  fixed: { type: any, readOnly: true, default: { "b": 1, "a": [1.5] } }
relations:
  parts: { kind: hasMany, type: Part, inverse: thing, nested: write }
  part: { kind: belongsTo, type: Part, nested: write }
  shared: { kind: belongsTo, type: Shared, nested: link }
`;
const PART = `type: Part
open: true
fields: { data: { type: any } }
relations:
  thing: { kind: belongsTo, type: Thing, inverse: parts, nested: link }
  owner: { kind: belongsTo, type: Thing, nested: write }
`;
const SHARED = `type: Shared
open: true
fields: { data: { type: any } }
`;

/** Values as nobody's JSON.stringify writes them. */
const TEXTS = [
  '12345678901234567890',
  '9007199254740993',
  '-9007199254740993',
  '1.0',
  '-0',
  '-0.0',
  '1e2',
  '1E+2',
  '1e400',
  '-1e-400',
  '0.1000000000000000055511151231257827',
  '{"2":1,"1":2,"b":3,"-1":4,"a":5,"0":6}',
  '{"":{"":0}}',
  '[1.0,{"10":[],"9":{}},[[[]]]]',
  '"\\u00e9\\/\\ud83d\\ude00"',
  '"a  b\\t"',
  '{"\\u0061":1,"c\\"":"\\\\"}',
  '{"constructor":1,"toString":2,"hasOwnProperty":{"valueOf":3.0}}',
] as const;

const RUNS = Number(process.env['RUNS'] ?? 60);

function* round(items: readonly string[]): Generator<string> {
  for (;;) yield* items;
}

/** What a key holds after a write. A field cannot be removed, only be null; of a patch, null removes an open key. */
function take(state: Map<string, string>, name: string, text: string, patch: boolean): void {
  const isField = name === 'value' || name === 'data';
  if (patch && !isField && text === 'null') state.delete(name);
  else state.set(name, patch && text !== 'null' ? mergePatch(state.get(name), text) : text);
}

describe.each(databaseKinds)('on %s', (kind) => {
  let directory: string;
  let server: TestServer;
  let watch: Watch;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'schema-'));
    for (const [name, text] of Object.entries({ THING, PART, SHARED }))
      writeFileSync(join(directory, `${name.toLowerCase()}.yaml`), text);
    server = await startTestServer({ schemaDirectory: directory, kind });
    watch = await watchDatabase(server.database);
  });
  afterAll(async () => {
    await watch.close();
    await server.close();
    rmSync(directory, { recursive: true });
  });

  const send = (title: string, body?: string, headers: Record<string, string> = {}) =>
    exchange(
      server.url,
      title,
      body === undefined ? { headers } : { body, headers: { 'content-type': 'application/json', ...headers } },
    );

  /** The text of the answer, which must be that of a success. */
  async function ok(title: string, body?: string, headers?: Record<string, string>): Promise<string> {
    const answer = await send(title, body, headers);
    if (answer.status >= 300) throw new Error(`${title} ${body}: ${answer.status} ${answer.text}`);
    return answer.text;
  }

  /** Whether the request wrote a row. */
  async function wrote(title: string, body: string, headers?: Record<string, string>): Promise<boolean> {
    const before = await watch.version();
    await ok(title, body, headers);
    return (await watch.version()) !== before;
  }

  async function made(body: string, path = 'things'): Promise<string> {
    const { id } = JSON.parse(await ok(`POST /api/${path}`, body)) as { id: number };
    return `/api/${path}/${id}`;
  }

  it.each(TEXTS)('%s is answered as it was sent', async (given) => {
    const list = `[${given},${given}]`;
    const members = `"value":${given},"list":${list}`;
    const path = await made(`{${members},"open":${given}}`);
    const all = `${members},"fixed":{"b":1,"a":[1.5]}`;
    for (const request of [`GET ${path}?include=`, `PUT ${path}?include=`, `PATCH ${path}?include=`]) {
      const answer = await ok(request, request.startsWith('GET') ? undefined : `{"open":${given},${members}}`);
      expect(answer).toContain(`"name":null,${all},"open":${given}}`);
    }
    expect(await ok('GET /api/things?include=', undefined, { accept: 'application/x-ndjson' })).toContain(
      `,${all},"open"`,
    );
  });

  it('white space between tokens goes, white space in strings stays', async () => {
    const path = await made('{"value": { "a b" : [ 1.0 ,\n2 ] , "c":\t" d " }, "k" :\r\n[ ] }');
    const answer = await ok(`GET ${path}?include=`);
    expect(answer).toContain('"value":{"a b":[1.0,2],"c":" d "}');
    expect(answer).toContain('"k":[]}');
  });

  it('open keys keep their order, those that look like numbers too', async () => {
    const path = await made('{"9":1,"b":2,"name":"n","8":3,"0":4,"a":5}');
    expect(await ok(`GET ${path}?include=`)).toMatch(/,"9":1,"b":2,"8":3,"0":4,"a":5}$/);
    await ok(`PUT ${path}`, '{"7":6,"b":2.0,"10":7}');
    expect(await ok(`GET ${path}?include=`)).toMatch(/,"9":1,"b":2.0,"8":3,"0":4,"a":5,"7":6,"10":7}$/);
    await ok(`PATCH ${path}`, '{"b":null,"0":null,"10":{"x":1.0}}');
    expect(await ok(`GET ${path}?include=`)).toMatch(/,"9":1,"8":3,"a":5,"7":6,"10":{"x":1.0}}$/);
  });

  it('nested records keep theirs, at any depth', async () => {
    const path = await made(
      `{"parts":[{"data":1.0,"2":1,"1":2},{"owner":{"value":{"2":1,"1":1e2},"9":1.0,"8":2}}],"part":{"data":9007199254740993}}`,
    );
    const answer = await ok(`GET ${path}?include=parts.owner,part`);
    expect(answer).toContain('"data":1.0,"owner":null,"2":1,"1":2');
    expect(answer).toContain('"value":{"2":1,"1":1e2}');
    expect(answer).toContain('"9":1.0,"8":2');
    expect(answer).toContain('"data":9007199254740993');
  });

  it('what GET answers can be PUT back, and nothing is written', async () => {
    const values = TEXTS.map((value, index) => `"${TEXTS.length - index}":${value}`).join(',');
    const path = await made(`{"value":[${TEXTS.join(',')}],${values},"parts":[{"data":1.0,"2":1.0,"1":1}]}`);
    for (const title of [path, `${path}?include=parts.thing`]) {
      const before = await send(`GET ${title}`);
      expect(await wrote(`PUT ${title}`, before.text, { 'if-match': String(before.headers.etag) })).toBe(false);
      expect(await send(`GET ${title}`)).toMatchObject({ text: before.text, headers: { etag: before.headers.etag } });
    }
  });

  it('another text of the same value is written, and changes the entity tag', async () => {
    const path = await made('{"value":1,"k":[1]}');
    const { etag } = (await send(`GET ${path}`)).headers;
    expect(await wrote(`PUT ${path}`, '{"value":1.0}')).toBe(true);
    expect(await ok(`GET ${path}`)).toContain('"value":1.0,');
    expect((await send(`PUT ${path}`, '{"value":1}', { 'if-match': String(etag) })).status).toBe(412);
    expect(await wrote(`PUT ${path}`, '{"k":[1.0]}')).toBe(true);
    expect(await wrote(`PUT ${path}`, '{"k":[ 1.0 ]}')).toBe(false);
  });

  it('a merge patch leaves what it does not name as it was written', async () => {
    const path = await made(
      '{"value":{"2":1.0,"1":{"b":1e2,"a":9007199254740993},"x":null},"k":{"9":1.0,"8":{"z":1.0}}}',
    );
    await ok(`PATCH ${path}`, '{"value":{"1":{"b":null,"c":2.0},"x":{"n":null,"m":1.0}},"k":{"8":{"y":-0}}}');
    const answer = await ok(`GET ${path}?include=`);
    expect(answer).toContain('"value":{"2":1.0,"1":{"a":9007199254740993,"c":2.0},"x":{"m":1.0}}');
    expect(answer).toContain('"k":{"9":1.0,"8":{"z":1.0,"y":-0}}');
    expect(await wrote(`PATCH ${path}`, '{"value":{"1":{"c":2.0}},"k":{"q":null}}')).toBe(false);
    await ok(`PATCH ${path}`, '{"value":[{"a":null}]}');
    expect(await ok(`GET ${path}`)).toContain('"value":[{"a":null}]');
  });

  it.each([
    ['{"data":100,"k":1.0}', true],
    ['{"data":1e2,"k":1}', true],
    ['{"k":10e-1,"data":100.00}', true],
    ['{"k":1,"data":100.0000000000000000000001}', false],
    ['{"k":2}', false],
    ['{"z":1}', false],
  ])('a link with %s beside the identifier', async (beside, same) => {
    const shared = await made('{"data":1e2,"k":1.0}', 'shareds');
    const id = shared.split('/').at(-1);
    const path = await made('{}');
    const body = `{"shared":{"id":${id},${beside.slice(1)}}`;
    expect((await send(`PUT ${path}`, body)).status).toBe(same ? 200 : 409);
    expect(await ok(`GET ${shared}`)).toContain('"data":1e2,"k":1.0');
  });

  it.each([
    ['{"b":1,"a":[1.5]}', 200],
    ['{"a":[15e-1],"b":1.0}', 200],
    ['{"a":[1.5],"b":1,"c":null}', 422],
    ['{"a":[1.5000000000000000001],"b":1}', 422],
  ])('%s for a field that is read-only', async (given, status) => {
    const path = await made('{}');
    const body = `{"fixed":${given}}`;
    expect((await send(`PUT ${path}`, body)).status).toBe(status);
    expect((await send('POST /api/things', body)).status).toBe(status === 200 ? 201 : status);
    expect(await ok(`GET ${path}`)).toContain('"fixed":{"b":1,"a":[1.5]}');
  });

  it('a merge patch may hold copies of what it only links, and of what is read-only, with their nulls', async () => {
    const shared = await made('{"data":{"a":1,"b":null},"k":{"x":null}}', 'shareds');
    const id = shared.split('/').at(-1);
    const path = await made('{}');
    const linked = (beside: string): string => `{"shared":{"id":${id},${beside}}}`;
    expect((await send(`PATCH ${path}`, linked('"data":{"a":1,"b":null},"k":{"x":null}'))).status).toBe(200);
    expect((await send(`PATCH ${path}`, linked('"data":{"b":2}'))).status).toBe(409);
    expect((await send(`PATCH ${path}`, linked('"k":{"y":null,"z":1}'))).status).toBe(409);
    expect(await ok(`GET ${shared}`)).toContain('"data":{"a":1,"b":null},"k":{"x":null}');
  });

  it('two texts for one value of one record are two values', async () => {
    const path = await made('{"part":{"data":1}}');
    const { id, part } = JSON.parse(await ok(`GET ${path}`)) as { id: number; part: { id: number } };
    const twice = (data: string, k: string): string =>
      `{"k":1.0,"part":{"id":${part.id},"data":1,"owner":{"id":${id},"k":${k},"value":${data}}},"value":1}`;
    expect((await send(`PUT ${path}`, twice('1', '1.0'))).status).toBe(200);
    const answer = await send(`PUT ${path}`, twice('1.0', '1'));
    expect(answer.status).toBe(422);
    const { errors } = JSON.parse(answer.text) as { errors: { pointer: string }[] };
    expect(new Set(errors.map(({ pointer }) => pointer))).toEqual(
      new Set(['/value', '/part/owner/value', '/k', '/part/owner/k']),
    );
  });

  it.each([
    ['{"value":{"__proto__":1}}', '/value/__proto__'],
    ['{"value":[{"\\u005f_proto__":1}]}', '/value/0/__proto__'],
    ['{"k":"\\u0000"}', '/k'],
    ['{"k":{"\\ud800":1}}', '/k/\ud800'],
    ['{"name":1e400}', '/name'],
    ['{"parts":[{"id":1e400}]}', '/parts/0/id'],
  ])('%s is refused', async (body, pointer) => {
    const answer = await send('POST /api/things', body);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      422,
      expect.objectContaining({ errors: [expect.objectContaining({ pointer })] }),
    ]);
  });

  it.each(['{"value":{"a":1,"a":1}}', '{"k":[{"b":1,"\\u0062":1}]}', '{"k":1,"k":1}'])(
    '%s has a key twice',
    async (body) => {
      expect(await send('POST /api/things', body)).toMatchObject({
        status: 400,
        text: expect.stringContaining('is repeated'),
      });
    },
  );

  it('a key with an escape is the key that it is, whatever was parsed before', async () => {
    // Keys that nothing else here begins with: V8 remembers the only key that ever followed another one.
    await made('{"k7":1,"va\\\\u0":1}');
    await made('{"k8":1,"\\\\":1}');
    expect(await ok(`GET ${await made('{"k7":1,"va\\u006cue":1.0}')}`)).toContain('"value":1.0');
    expect(await ok(`GET ${await made('{"k8":1,"\\t":1,"\\"":2}')}`)).toMatch(/"\\t":1,"\\"":2}$/);
  });

  it('in CSV a value stands as its text', async () => {
    await made('{"name":"csv","value":1.0,"list":[1.0,{"2":1,"1":2}]}');
    const lines = await ok('GET /api/things?_cnd[name]=csv&include=', undefined, { accept: 'text/csv' });
    expect(lines).toContain(',csv,1.0,"[1.0,{""2"":1,""1"":2}]",');
  });

  it('whatever is sent, in any order and with any white space, is what is there', async () => {
    const path = await made('{}');
    const part = JSON.parse(await ok(`PUT ${path}`, '{"parts":[{}]}')) as { parts: readonly { id: number }[] };
    const id = Number(part.parts[0]?.id);
    const state = new Map<string, string>([
      ['value', 'null'],
      ['data', 'null'],
    ]);
    const key = fc.constantFrom('value', 'data', '7', '30', 'constructor', '');
    const write = fc.record({
      method: fc.constantFrom('PUT', 'PATCH'),
      texts: fc.dictionary(key, rawJson, { minKeys: 1, noNullPrototype: true }),
      spaces: fc.array(fc.constantFrom('', '', '', ' ', '\n', '\t\r\n'), { minLength: 20, maxLength: 20 }),
    });
    const property = fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 4 }), async (writes) => {
      for (const { method, texts, spaces } of writes) {
        const members = Object.entries(texts).map(([name, text]) => [JSON.stringify(name), text] as const);
        const own = members.filter(([name]) => name !== '"data"').map(([name, text]) => `${name}:${text}`);
        const nested = members.filter(([name]) => name === '"data"').map(([name, text]) => `,${name}:${text}`);
        const parts = nested.length > 0 ? [`"parts":[{"id":${id}${nested.join('')}}]`] : [];
        const body = spaced(`{${[...parts, ...own].join(',')}}`, round(spaces));
        const answer = await ok(`${method} ${path}?include=parts`, body);
        for (const [name, text] of Object.entries(texts)) take(state, name, text, method === 'PATCH');
        const open = [...state].filter(([name]) => name !== 'value' && name !== 'data');
        const expected = open.map(([name, text]) => `,${JSON.stringify(name)}:${text}`).join('');
        expect(answer).toContain(`"value":${state.get('value')},"list"`);
        expect(answer).toContain(`"parts":[{"id":${id},"data":${state.get('data')}}]${expected}}`);
        expect(await ok(`GET ${path}?include=parts`)).toBe(answer);
        expect(await wrote(`PUT ${path}?include=parts`, answer)).toBe(false);
      }
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  it('open keys that become fields keep their texts, and so do those that stay', async () => {
    const open = 'type: Note\nopen: true\n';
    const fields = {
      whole: ['integer', '1.0', '1'],
      power: ['integer', '1e2', '100'],
      double: ['number', '1e2', '100'],
      exact: ['decimal, scale: 2', '"1.50"', '"1.50"'],
      text: ['string', '"\\u00e9"', '"é"'],
      any: ['any', '{"2":1.0,"1":12345678901234567890}', '{"2":1.0,"1":12345678901234567890}'],
      größe: ['any', '1e400', '1e400'],
      list: ['array', '[1.0,"\\u00e9"]', '[1.0,"\\u00e9"]'],
    } as const;
    const names = Object.keys(fields).map((name) => JSON.stringify(name).replace('ö', '\\u00f6'));
    const given = Object.values(fields).map(([, text], index) => `${names[index]}:${text}`);
    const others = '"9":{"9":1.0,"8":-0},"caf\\u00e9":"\\/"';
    const project = await createProject({ 'note.yaml': open }, undefined, kind);
    const sent = { headers: { 'content-type': 'application/json' }, body: `{${given.join(',')},${others}}` };
    try {
      const before = await project.serving((url) => exchange(url, 'POST /api/notes', sent));
      expect(before).toMatchObject({ status: 201, text: `{"id":1,${sent.body.slice(1)}` });
      const types = Object.entries(fields).map(([name, [type]]) => `  ${name}: { type: ${type} }\n`);
      project.write({ 'note.yaml': `${open}fields:\n${types.join('')}` });
      const after = await project.serving((url) => exchange(url, 'GET /api/notes/1'));
      const expected = Object.entries(fields).map(([name, [, , text]]) => `"${name}":${text}`);
      const kept = others.replace('caf\\u00e9', kind === 'postgres' ? 'café' : 'caf\\u00e9');
      expect(after.text).toBe(`{"id":1,${expected.join(',')},${kept}}`);
    } finally {
      await project.remove();
    }
  });

  it('defaults and seeds are kept as the descriptor writes them', async () => {
    const yaml = `type: Note
open: true
fields:
  value: { type: any, default: { 2: 1.0, 1: [12345678901234567890, 0x10, .5, "a"] } }
  list: { type: array, default: [1e2, -0] }
  long: { type: any, default: 12345678901234567890 }
relations:
  part: { kind: belongsTo, type: Piece, nested: write }
seed:
  - { id: 1, value: 9007199254740993, 9: 1.0, 8: { b: 1e2, 3: &x 1.50, 2: *x }, part: { data: [1.0] } }
  - { id: 2 }
`;
    const piece = 'type: Piece\nfields: { data: { type: any } }\n';
    const project = await createProject({ 'note.yaml': yaml, 'piece.yaml': piece }, undefined, kind);
    const value = '{"2":1.0,"1":[12345678901234567890,16,0.5,"a"]}';
    const others = '"list":[1e2,-0],"long":12345678901234567890';
    try {
      const list = await project.serving((url) => exchange(url, 'GET /api/notes'));
      expect(list.text).toBe(
        `[{"id":1,"value":9007199254740993,${others},"part":{"id":1,"data":[1.0]},"9":1.0,"8":{"b":1e2,"3":1.50,"2":1.50}},` +
          `{"id":2,"value":${value},${others},"part":null}]`,
      );
    } finally {
      await project.remove();
    }
  });

  it.each([
    ['fields: { n: { type: number, default: 12345678901234567890 } }', 2],
    ['fields: { n: { type: any, default: 1e400 } }', 2],
    ['fields: { n: { type: integer, maximum: 12345678901234567890 } }', 2],
    ['fields: { n: { type: integer } }\nseed: [{ id: 1, n: 12345678901234567890 }]', 3],
    ['seed: [{ id: 12345678901234567890 }]', 2],
  ])('%s is a fault', async (text, line) => {
    const project = await createProject({ 'note.yaml': `type: Note\n${text}\n` }, undefined, kind);
    try {
      const { code, out } = await project.run('check', '--json');
      expect(code).not.toBe(0);
      expect(JSON.parse(out)).toContainEqual(expect.objectContaining({ code: 'not-json', line }));
    } finally {
      await project.remove();
    }
  });

  it('what is kept without a text is kept as JSON.stringify writes it', async () => {
    const database = await createDatabase(kind);
    const engine = await createEngine({ schemaDirectory: directory, databaseUrl: database.url });
    const app = express();
    app.use(express.json());
    app.use(engine.handler);
    const listening = app.listen(0);
    const url = `http://localhost:${(listening.address() as AddressInfo).port}`;
    try {
      const answer = await exchange(url, 'POST /api/things?include=', {
        body: '{"value":{"2":1.0,"1":[]},"b":1e2,"1":-0}',
        headers: { 'content-type': 'application/json' },
      });
      expect(answer.text).toContain('"value":{"1":[],"2":1}');
      expect(answer.text).toContain(',"1":0,"b":100}');
      const infinite = { body: '{"value":1e400}', headers: { 'content-type': 'application/json' } };
      expect((await exchange(url, 'POST /api/things', infinite)).status).toBe(422);
    } finally {
      listening.close();
      await engine.close();
      await database.remove();
    }
  });
});
