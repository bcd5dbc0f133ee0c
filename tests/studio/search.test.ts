/** What is typed into a search box of the studio, as filters; and what the search over all types looks for. */
import { wantedBy } from '../../studio/app/palette.ts';
import { listedTypes, readModel, typeNamed } from '../../studio/data/model.ts';
import { searchedPaths, searchedWhere } from '../../studio/data/search.ts';

const common = { examples: [], operators: ['eq', 'in', 'like'], isOrderIndexed: false, type: 'string' };
const field = (words: object = {}) => ({ title: 'F', ...common, ...words });
const relation = (words: object = {}) => ({ title: 'R', kind: 'belongsTo', type: 'Customer', label: 'name', ...words });
const identifier = { name: 'id', title: 'ID', inRecord: true, operators: ['eq', 'in'] };

const model = readModel(
  JSON.stringify({
    limits: { maxFilters: 10 },
    types: [
      {
        type: 'Order',
        path: 'orders',
        title: { one: 'Order', many: 'Orders' },
        operations: ['list'],
        label: 'number',
        identifier,
        fields: {
          note: field({ multiline: true }),
          number: field(),
          state: field({ enum: ['open', 'paid'], titles: { paid: 'Settled' } }),
          secret: field({ sensitive: true }),
          total: field({ type: 'decimal', operators: ['eq'] }),
          receipt: field({ type: 'integer', operators: ['eq'], unique: true }),
          pieces: field({ type: 'integer', operators: ['eq'] }),
        },
        relations: { customer: relation(), lines: relation({ kind: 'hasMany' }) },
      },
      {
        type: 'Customer',
        path: 'customers',
        title: { one: 'Customer', many: 'Customers' },
        operations: ['list'],
        label: 'name',
        identifier,
        fields: { name: field() },
        relations: {},
      },
    ],
  }),
);
const order = typeNamed(model, 'Order');

test('searches visible texts, the label first, and labels of related records', () => {
  expect(searchedPaths(model, order)).toEqual(['number', 'note', 'customer.name']);
});

const any = (prefix: string, word: string): readonly string[] =>
  ['number', 'note', 'customer.name'].map((path, index) => `${prefix}[${index}][${path}][like]=*${word}*`);

test.each<[filters: string, typed: string, query: readonly string[], left: readonly string[]]>([
  ['', 'mey', any('_cnd[$any]', 'mey'), []],
  ['', '  mey  mey ', any('_cnd[$any]', 'mey'), []],
  ['', 'a b', [...any('_cnd[$any]', 'a'), ...any('_cnd[$all][0][$any]', 'b')], []],
  ['', 'a*b', any('_cnd[$any]', 'a*b'), []],
  ['', '0593', any('_cnd[$any]', '0593'), []],
  [
    '',
    'settl',
    [
      '_cnd[$any][0][state][in]=paid',
      ...any('_cnd[$any]', 'settl').map((one, index) => one.replace(`[${index}]`, `[${index + 1}]`)),
    ],
    [],
  ],
  [
    '',
    '12',
    [
      '_cnd[$any][0][id][eq]=12',
      '_cnd[$any][1][receipt][eq]=12',
      ...any('_cnd[$any]', '12').map((one, index) => one.replace(`[${index}]`, `[${index + 2}]`)),
    ],
    [],
  ],
  ['_cnd[total][gte]=5', 'mey', ['_cnd[total][gte]=5', ...any('_cnd[$any]', 'mey')], []],
  [
    '',
    'a b c d',
    [...any('_cnd[$any]', 'a'), ...any('_cnd[$all][0][$any]', 'b'), ...any('_cnd[$all][1][$any]', 'c')],
    ['d'],
  ],
  ['', 'x'.repeat(199), ['_cnd[id][eq]=0'], ['x'.repeat(199)]],
  ['', '***', ['_cnd[id][eq]=0'], ['***']],
  ['', ' ', [], []],
])('%s and the words "%s"', (where, q, query, left) => {
  const found = searchedWhere(model, order, { where, q });
  expect(found.where.map(([name, value]) => `${name}=${value}`)).toEqual(query);
  expect(found.left).toEqual(left);
});

test.each([
  ['MÜLLER', ['MüLLER', 'MÜLLER']],
  ['öl', ['Öl', 'öl']],
])('letters of other alphabets are looked for in either case: %s', (q, patterns) => {
  const { where } = searchedWhere(model, typeNamed(model, 'Customer'), { q });
  const found = where.map(([, value]) => value.replaceAll(/[A-Z*]/g, (one) => (one === '*' ? '' : one.toLowerCase())));
  expect(found.toSorted()).toEqual(
    patterns.map((one) => one.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())).toSorted(),
  );
});

test.each([
  ['', ['Customers', 'Orders'], [], ''],
  ['ord', ['Orders'], ['Customers', 'Orders'], 'ord'],
  ['meyer', [], ['Customers', 'Orders'], 'meyer'],
  ['orders 2026 1', [], ['Orders'], '2026 1'],
  ['Order 7', [], ['Orders'], '7'],
] as const)('over all types, "%s" is looked for', (typed, types, searched, text) => {
  const wanted = wantedBy(typed, listedTypes(model));
  expect(wanted.types.map(({ title }) => title.many)).toEqual(types);
  expect(wanted.searched.map(({ title }) => title.many)).toEqual(searched);
  expect(wanted.text).toBe(text);
});
