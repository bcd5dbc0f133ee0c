/** What is kept as JSON is kept as it was written: in `any` and `array` fields and in open keys, whatever way it comes and goes. */
import { mergePatch } from '../oracle/values.ts';
import { watchDatabase, type Watch } from '../support/observer.ts';
import { exchange } from '../support/exchange.ts';
import { rawJson, spaced } from '../support/raw-json.ts';
import { useServer } from '../support/server.ts';
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

const TEXTS = [
  ...(
    '12345678901234567890 9007199254740993 -9007199254740993 1.0 -0 -0.0 1e2 1E+2 1e400 -1e-400 ' +
    '0.1000000000000000055511151231257827'
  ).split(' '),
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

let watch: Watch;
afterAll(() => watch.close());
const server = useServer({ files: { 'thing.yaml': THING, 'part.yaml': PART, 'shared.yaml': SHARED } });
beforeAll(async () => void (watch = await watchDatabase(server.database)));

const send = (title: string, body?: string, headers: Record<string, string> = {}) =>
  exchange(
    server.url,
    title,
    body === undefined ? { headers } : { body, headers: { 'content-type': 'application/json', ...headers } },
  );

async function ok(title: string, body?: string, headers?: Record<string, string>): Promise<string> {
  const answer = await send(title, body, headers);
  if (answer.status >= 300) throw new Error(`${title} ${body}: ${answer.status} ${answer.text}`);
  return answer.text;
}

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

it('what GET answers can be PUT back, and nothing is written', async () => {
  const values = TEXTS.map((value, index) => `"${TEXTS.length - index}":${value}`).join(',');
  const path = await made(`{"value":[${TEXTS.join(',')}],${values},"parts":[{"data":1.0,"2":1.0,"1":1}]}`);
  for (const title of [path, `${path}?include=parts.thing`]) {
    const before = await send(`GET ${title}`);
    expect(await wrote(`PUT ${title}`, before.text, { 'if-match': String(before.headers.etag) })).toBe(false);
    expect(await send(`GET ${title}`)).toMatchObject({ text: before.text, headers: { etag: before.headers.etag } });
  }
});

it.each([
  ['{"fixed":{"a":[15e-1],"\\u0062":1.0}}', 200],
  ['{"fixed":{"a":[1.5],"b":1,"c":null}}', 422],
  ['{"fixed":{"a":["1.5"],"b":1}}', 422],
])('%s beside {"b":1,"a":[1.5]}, which is read-only, is %i', async (body, status) => {
  expect((await send(`PUT ${await made('{}')}`, body)).status).toBe(status);
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

it('values keep their order of keys and white space', async () => {
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
