/** Unique values that change hands within one request, which works whenever the result is valid; and equal values, which are refused once. */
import { ask, type Answer } from '../support/ask.ts';
import { faultsIn, rowsOf } from '../support/table.ts';
import { useServer } from '../support/server.ts';

/** Types of one unique field, and values that it has. */
const SINGLE: Readonly<Record<string, readonly [field: string, values: readonly unknown[]]>> = {
  Word: ['type: string, enum: [a, b, c], required: true', ['a', 'b', 'c']],
  Code: ['type: string, maxLength: 2, caseless: true, required: true', ['aa', 'BB', 'Cc']],
  Taken: ['type: string, required: true', ['~1', '~2', '~3']],
  Rank: ['type: integer, minimum: 1, maximum: 3, required: true', [1, 2, 3]],
  Lowest: ['type: integer, required: true', [1, 2 - 2 ** 53, 3 - 2 ** 53]],
  Weight: ['type: number, minimum: 0, maximum: 1, required: true', [0, 0.5, 1]],
  Day: ['type: date, required: true', ['9999-12-31', '9999-12-30', '9999-12-29']],
  Moment: ['type: timestamp, required: true', ['2030-01-01T00:00:00Z', '2030-01-01T00:00:01Z', '2030-01-01T00:00:02Z']],
  Price: ['type: decimal, precision: 3, scale: 2', ['1.00', '2.5', '3']],
  Yes: ['type: boolean', [true, false]],
};

const FILES = {
  ...Object.fromEntries(
    Object.entries(SINGLE).map(([type, [field]]) => [
      `${type}.yaml`,
      `type: ${type}\npath: ${type.toLowerCase()}\nfields:\n  value: { ${field}, unique: true }\n`,
    ]),
  ),
  'list.yaml': `type: List
relations:
  entries: { kind: hasMany, type: Entry, inverse: list, owned: true }
  lead: { kind: hasOne, type: Lead, inverse: list }
`,
  'entry.yaml': `type: Entry
order: [position]
fields:
  position: { type: integer, minimum: 1, maximum: 3, required: true }
  name: { type: string }
relations:
  list: { kind: belongsTo, type: List, inverse: entries, required: true }
unique: [[list, position]]
`,
  'lead.yaml': `type: Lead
relations:
  list: { kind: belongsTo, type: List, inverse: lead, required: true }
`,
  'fee.yaml': `type: Fee
fields:
  amount: { type: decimal, precision: 5, scale: 2, required: true }
  paid: { type: boolean, required: true }
unique: [[amount, paid]]
`,
  'a.yaml': 'type: A\nrelations:\n  bs: { kind: hasMany, type: B, inverse: a, owned: true }\n',
  'b.yaml': `type: B
fields:
  u: { type: string, unique: true }
  n: { type: integer }
  m: { type: integer }
  k: { type: integer }
unique: [[a, u], [n, m], [a, m, k]]
relations:
  a: { kind: belongsTo, type: A, inverse: bs }
`,
};

interface Made {
  readonly id: number;
  readonly [name: string]: unknown;
}

const PERMUTATIONS: readonly (readonly number[])[] = [
  [1, 0, 2],
  [2, 1, 0],
  [0, 2, 1],
  [1, 2, 0],
  [2, 0, 1],
];

const server = useServer({ files: FILES });

const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
const make = async (path: string, bodies: readonly unknown[]): Promise<readonly Made[]> => {
  const { status, body } = await send(`POST /api/${path}`, bodies);
  expect([status, body]).toEqual([201, expect.any(Array)]);
  return body as readonly Made[];
};

test.each(Object.entries(SINGLE))('PATCH of records that exchange values: %s', async (type, [, values]) => {
  const path = type.toLowerCase();
  const made = await make(
    path,
    values.map((value) => ({ value })),
  );
  const orders = PERMUTATIONS.filter((order) => order.length === values.length);
  for (const order of values.length === 2 ? [[1, 0]] : orders) {
    const items = made.map(({ id }, index) => ({ id, value: values[order[index] ?? 0] }));
    const dryRun = await send(`PATCH /api/${path}?dryRun=true`, items);
    expect(dryRun).toMatchObject({ status: 200, body: { answer: { body: items } } });
    const { status, body } = await send(`PATCH /api/${path}`, items);
    expect([status, body]).toEqual([200, items]);
  }
  const [one, other] = (await send(`GET /api/${path}`)).body as readonly Made[];
  const taken = { value: other?.['value'] };
  const dryRun = await send(`PATCH /api/${path}/${one?.id}?dryRun=true`, taken);
  expect([dryRun.status, dryRun.body]).toEqual([409, (await send(`PATCH /api/${path}/${one?.id}`, taken)).body]);
});

test('PUT of an owned set: a chain of unique values moves through the set', async () => {
  const [list] = await make('lists', [{ entries: [1, 2, 3].map((position) => ({ position })) }]);
  const [first, second] = (list?.['entries'] ?? []) as readonly Made[];
  const entries = [{ position: 2 }, { id: second?.id, position: 1 }, { id: first?.id, position: 3 }];
  const { status, body } = await send(`PUT /api/lists/${list?.id}`, { entries });
  const positions = (body as { entries: readonly Made[] }).entries.map(({ position }) => position);
  expect([status, positions]).toEqual([200, [1, 2, 3]]);
});

test.each<[path: string, bodies: (lists: readonly Made[]) => readonly [object, object]]>([
  [
    'fees',
    () => [
      { amount: '1.00', paid: true },
      { amount: '1.00', paid: false },
    ],
  ],
  ['leads', ([one, other]) => [{ list: { id: one?.id } }, { list: { id: other?.id } }]],
])('409 names both records where none of their values can change for a moment: %s', async (path, bodies) => {
  const [one, other] = bodies(await make('lists', [{}, {}]));
  const made = await make(path, [one, other]);
  const items = [
    { ...other, id: made[0]?.id },
    { ...one, id: made[1]?.id },
  ];
  const { status, body } = await send(`PATCH /api/${path}`, items);
  const { errors } = body as { errors: readonly { code: string; records: readonly { identifier: number }[] }[] };
  const named = errors.map(({ code, records }) => [code, ...records.map(({ identifier }) => identifier).toSorted()]);
  const expected = ['unique', ...made.map(({ id }) => id)];
  expect([status, named]).toEqual([409, [expected]]);
  expect((await send(`GET /api/${path}`)).body).toEqual(made);
});

test.each(
  rowsOf(`
      [{"u":"x"},{"u":"x"}] => /bs/1/u unique
      [{"u":"x"},{"u":"y"},{"u":"x"},{"u":"x"}] => /bs/2/u unique | /bs/3/u unique
      [{"n":1,"m":2},{"n":1,"m":2}] => /bs/1/n unique
      [{"m":1,"k":1},{"m":1,"k":1}] => /bs/1/m unique
      [{"u":"x","n":1,"m":2},{"u":"x","m":2,"n":1}] => /bs/1/u unique | /bs/1/n unique
      [{"u":"taken"},{"u":"taken"}] => /bs/0/u unique | /bs/1/u unique
      [{"n":7,"m":7},{"n":7,"m":7}] => /bs/0/n unique | /bs/1/n unique
    `),
)('equal values are reported once: POST /api/as {"bs": %s}', async (bs, faults) => {
  await send('PUT /api/bs?on=u', { u: 'taken', n: 7, m: 7 });
  for (const query of ['?dryRun=true', '']) {
    const answer = await send(`POST /api/as${query}`, { bs: JSON.parse(bs) });
    expect([answer.status, faultsIn(answer)]).toEqual([409, faults]);
  }
});
