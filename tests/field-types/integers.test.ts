import { useTool } from '../mcp/agent.ts';
import { exchange } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const FILES = {
  'box.yaml': `type: Box
open: true
fields:
  size: { type: integer }
  code: { type: integer, unique: true }
  rank: { type: integer, enum: [1, 2, 3] }
  weight: { type: number }
  sizes: { type: array, items: { type: integer, nullable: true } }
  grid: { type: array, items: { type: array, items: { type: integer } } }
  data: { type: any }
relations:
  lid: { kind: hasOne, type: Lid, inverse: box, owned: true }
  tags: { kind: hasMany, type: Tag, inverse: box, owned: true }
`,
  'lid.yaml':
    'type: Lid\nfields: { size: { type: integer } }\nrelations: { box: { kind: belongsTo, type: Box, inverse: lid } }\n',
  'tag.yaml':
    'type: Tag\nfields: { size: { type: integer } }\nrelations: { box: { kind: belongsTo, type: Box, inverse: tags } }\n',
};
const server = useServer({ files: FILES });

const send = (call: string, body: string, type = 'application/json') =>
  exchange(server.url, call, { headers: { 'content-type': type }, body });

/** Numbers that JavaScript reads as integers. */
const FRACTIONS = [
  '4503599627370497.5',
  '1.00000000000000000001',
  '9007199254740991.4',
  '1e-400',
  '-0.1e-999',
  '2.99999999999999999999e0',
];
const INTEGERS: readonly (readonly [text: string, value: number])[] = [
  ['77.0', 77],
  ['7.8e1', 78],
  ['1200e-2', 12],
  ['-0.0', 0],
  ['0e-999', 0],
  ['9007199254740991.000', 9007199254740991],
];

const BODIES: Readonly<
  Record<string, (number: string) => readonly [call: string, body: string, pointer: string, type?: string]>
> = {
  'a field': (number) => ['POST /api/boxes', `{ "size": ${number} }`, '/size'],
  'a field of one of several': (number) => ['POST /api/boxes', `[{}, { "size": ${number} }]`, '/1/size'],
  'a change': (number) => ['PATCH /api/boxes/1', `{ "size": ${number} }`, '/size'],
  'a unique value': (number) => ['PUT /api/boxes?on=code', `{ "code": ${number} }`, '/code'],
  'an item': (number) => ['POST /api/boxes', `{ "sizes": [1, null, ${number}] }`, '/sizes/2'],
  'an item of an item': (number) => ['POST /api/boxes', `{ "grid": [[1], [2, ${number}]] }`, '/grid/1/1'],
  'a field of a related record': (number) => ['POST /api/boxes', `{ "lid": { "size": ${number} } }`, '/lid/size'],
  'a field of a set': (number) => ['PUT /api/boxes/1', `{ "tags": [{}, { "size": ${number} }] }`, '/tags/1/size'],
  'a line': (number) => ['POST /api/boxes', `{}\n{ "size": ${number} }`, '/1/size', 'application/x-ndjson'],
  'a cell': (number) => ['POST /api/boxes', `weight,size\n1,${number}`, '/0/size', 'text/csv'],
  'an item in a cell': (number) => ['POST /api/boxes', `sizes\n"[1,${number}]"`, '/0/sizes/1', 'text/csv'],
};
/** Places of identifiers, which have to be positive. */
const IDENTIFIERS: typeof BODIES = {
  'an identifier': (number) => ['POST /api/boxes', `{ "id": ${number} }`, '/id'],
  'an identifier in a cell': (number) => ['POST /api/boxes', `id\n${number}`, '/0/id', 'text/csv'],
  'a link': (number) => ['POST /api/tags', `{ "box": { "id": ${number} } }`, '/box/id'],
  'a link in a cell': (number) => ['POST /api/tags', `box\n${number}`, '/0/box', 'text/csv'],
};

beforeAll(async () => {
  expect((await send('POST /api/boxes', '{ "id": 1 }')).status).toBe(201);
});

describe.each(Object.entries({ ...BODIES, ...IDENTIFIERS }))('%s', (_place, bodyWith) => {
  test.each(FRACTIONS)('%s is no integer', async (number) => {
    const [call, body, pointer, type] = bodyWith(number);
    const { status, text } = await send(call, body, type);
    const { errors } = JSON.parse(text);
    expect([status, errors[0].pointer, errors[0].code]).toEqual([422, pointer, 'type']);
    expect(errors[0].message).toContain('an integer');
  });
});

describe.each(Object.entries(BODIES))('%s', (_place, bodyWith) => {
  test.each(INTEGERS)('%s is the integer %i', async (number, value) => {
    const [call, body, , type] = bodyWith(number);
    const { status, text } = await send(call, body, type);
    expect([200, 201]).toContain(status);
    expect(JSON.stringify(JSON.parse(text))).toMatch(new RegExp(`[:[,]${value}[,\\]}]`));
  });
});

test.each([
  '_cnd[size]=',
  '_cnd[size][ne]=',
  '_cnd[rank][in]=1,',
  '_cnd[id][lt]=',
  '_cnd[tags][$count]=',
  '_cnd[lid]=',
])('the filter %s takes only integers', async (filter) => {
  for (const number of FRACTIONS)
    expect((await exchange(server.url, `GET /api/boxes?${filter}${number}`)).status).toBe(400);
  for (const number of ['3.0', '0.1e1'])
    expect((await exchange(server.url, `GET /api/boxes?${filter}${number}`)).status).toBe(200);
});

test.each(FRACTIONS)('the dialects take %s for no integer', async (number) => {
  for (const filter of [`{"size":${number}}`, `{"size":[1,${number}]}`])
    expect((await exchange(server.url, `GET /simple-rest/boxes?filter=${encodeURIComponent(filter)}`)).status).toBe(
      400,
    );
  expect((await exchange(server.url, `GET /json-server/boxes?size_gte=${number}`)).status).toBe(400);
  expect((await send('POST /json-server/boxes', `{ "size": ${number} }`)).status).toBe(422);
});

test('an agent stores no integer that it did not send', async () => {
  const { isError, says } = await useTool(server.url, 'create_record', { type: 'Box', record: { size: 1 } });
  expect([isError, says['record']]).toMatchObject([false, { size: 1 }]);
  for (const number of FRACTIONS) {
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_record","arguments":{"type":"Box","record":{"size":${number}}}}}`;
    const { text } = await exchange(server.url, 'POST /mcp', {
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: message,
    });
    expect(text).toContain('must be an integer');
  }
});

test.each(FRACTIONS)(
  '%s stays as it is where any value may stand, and is the nearest number elsewhere',
  async (number) => {
    const { text } = await send(
      'POST /api/boxes',
      `{ "weight": ${number}, "data": { "size": ${number} }, "size2": ${number} }`,
    );
    expect(text).toContain(`"data":{"size":${number}}`);
    expect(text).toContain(`"size2":${number}`);
    expect(JSON.parse(text).weight).toBe(Number(number) + 0);
  },
);
