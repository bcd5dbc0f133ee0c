import {
  amountsOf,
  currenciesTarget,
  divisionsOf,
  divisionTarget,
  firstMeasure,
  isFiltered,
  measureName,
  monthField,
  monthFilter,
  monthSlices,
  monthsTarget,
  sliceFilter,
  slicesOf,
  summable,
  toggled,
} from '../../studio/charts/figures.ts';
import { parseJson, type Value } from '../../studio/data/json.ts';
import { type FieldInfo, readModel, typeNamed } from '../../studio/data/model.ts';
import { readTree, writeTree } from '../../studio/data/filter-tree.ts';
import { monthBetween, monthDays, monthsBefore, monthText } from '../../studio/presentations/times.ts';

const missing = (): never => {
  throw new Error('not there');
};
const common = { examples: [], operators: ['eq'], isOrderIndexed: false };
const field = (type: string, words: object = {}) => ({ title: 'F', ...common, type, ...words });
const relation = (words: object) => ({
  title: 'R',
  kind: 'belongsTo',
  type: 'T',
  label: 'code',
  operators: ['eq'],
  ...words,
});

const typeOf = (fields: Readonly<Record<string, object>>, relations: Readonly<Record<string, object>> = {}) => {
  const type = { type: 'T', path: 't', title: { one: 'T' }, label: 'code', identifier: { name: 'id' }, operations: [] };
  return typeNamed(readModel(JSON.stringify({ types: [{ ...type, fields, relations }] })), 'T');
};

const order = typeOf(
  {
    code: field('string', { unique: true }),
    changed: field('timestamp', { generated: 'updatedAt' }),
    placed: field('timestamp'),
    position: field('integer'),
    number: field('integer', { unique: true }),
    total: field('decimal'),
    secret: field('decimal', { sensitive: true }),
    gift: field('boolean'),
    state: field('string', { enum: ['open', 'paid'], titles: { paid: 'Settled' } }),
  },
  { customer: relation({}), cover: relation({ kind: 'hasOne' }), lines: relation({ kind: 'hasMany', operators: [] }) },
);
const named = (name: string): FieldInfo => order.fields.find((one) => one.name === name) ?? missing();

test('amounts are added up, what happened is shown by month, and states and relations divide it', () => {
  expect(amountsOf(order).map(({ name }) => name)).toEqual(['total', 'position']);
  expect(monthField(order)?.name).toBe('placed');
  expect(measureName(firstMeasure(order))).toBe('sum(total)');
  expect(divisionsOf(order).map(({ path }) => path)).toEqual(['state', 'customer', 'gift']);
});

test('things without a date are counted', () => {
  expect(measureName(firstMeasure(typeOf({ price: field('decimal') })))).toBe('count');
  expect(measureName(firstMeasure(typeOf({ at: field('date'), position: field('integer') })))).toBe('count');
});

test('amounts make a sum if the records found have one currency', () => {
  const sale = typeOf({
    placed: field('date'),
    price: field('decimal', { shows: { money: 'unit' } }),
    fee: field('decimal', { shows: { money: 'EUR' } }),
    pieces: field('integer'),
    unit: field('string'),
  });
  expect(decodeURIComponent(currenciesTarget(sale, []) ?? '')).toContain('?by=unit&measure=count&');
  expect(currenciesTarget(order, [])).toBe(undefined);
  const group = (unit: string) => parseJson(`{ "by": { "unit": ${unit} }, "measures": { "count": 1 } }`);
  const sums = (...groups: readonly Value[]) => summable(sale, groups).map(({ name, shows }) => [name, shows]);
  const others = [
    ['fee', { money: 'EUR' }],
    ['pieces', undefined],
  ];
  expect(sums(group('"EUR"'), group('"USD"'))).toEqual(others);
  expect(sums(group('null'), group('"USD"'))).toEqual(others);
  expect(sums()).toEqual(others);
  expect(sums(group('"usd"'))).toEqual([['price', { money: 'USD' }], ...others]);
  expect(sums(group('null'))).toEqual([['price', { money: '' }], ...others]);
  expect(measureName(firstMeasure(sale, summable(sale, [])))).toBe('sum(fee)');
});

test('what is asked for', () => {
  const [state, customer] = divisionsOf(order);
  const where = [['_cnd[gift][eq]', 'true']] as const;
  const asked = [
    divisionTarget(order, state ?? missing(), undefined, where),
    divisionTarget(order, customer ?? missing(), named('total'), []),
    monthsTarget(order, named('placed'), undefined, [], 'Europe/Berlin'),
  ];
  expect(asked.map(decodeURIComponent)).toEqual([
    't/$summary?by=state&measure=count&_cnd[gift][eq]=true&_cnd[orderBy]=state&_cnd[orderBy]=asc&_cnd[limit]=0&_cnd[limit]=6',
    't/$summary?by=customer&measure=count,sum(total)&_cnd[orderBy]=sum(total)&_cnd[orderBy]=desc&_cnd[limit]=0&_cnd[limit]=6',
    't/$summary?by=month(placed)&measure=count&zone=Europe/Berlin&_cnd[orderBy]=month(placed)&_cnd[orderBy]=desc&_cnd[limit]=0&_cnd[limit]=24',
  ]);
});

const words = { nothing: 'none', yes: 'Yes', no: 'No' };
const group = (by: unknown, measures: object): Value => parseJson(JSON.stringify({ by: { x: by }, measures }));

test('states stand in the order of the descriptor, and have its titles; sums keep their digits', () => {
  const [state, customer, gift] = divisionsOf(order);
  const groups = [group('paid', { count: 2 }), group(null, { count: 1 }), group('open', { count: 3 })];
  expect(slicesOf(state ?? missing(), undefined, groups, undefined, words)).toMatchObject([
    { value: null, name: 'none', figure: '1' },
    { value: 'open', name: 'open', figure: '3' },
    { value: 'paid', name: 'Settled', figure: '2' },
  ]);
  const sums = [
    group({ id: 7, code: 'Ada' }, { count: 2, 'sum(total)': '900719925474099.10' }),
    group(null, { count: 1 }),
  ];
  expect(slicesOf(customer ?? missing(), order, sums, named('total'), words)).toEqual([
    { value: '7', name: 'Ada', count: 2, figure: '900719925474099.10' },
    { value: null, name: 'none', count: 1, figure: '0' },
  ]);
  expect(slicesOf(gift ?? missing(), undefined, [group(true, { count: 2 })], undefined, words)).toMatchObject([
    { value: 'true', name: 'Yes' },
  ]);
});

test('months without records are there; records without a month are not', () => {
  const groups = ['2026-02', '2025-12', null].map((month) => group(month, { count: 1 }));
  expect(monthSlices(groups, undefined, String).map(({ value, figure }) => `${value} ${figure}`)).toEqual([
    '2025-12 1',
    '2026-01 0',
    '2026-02 1',
  ]);
  expect(monthSlices([], undefined, String)).toEqual([]);
});

const written = (nodes: Parameters<typeof writeTree>[0]): readonly string[] =>
  writeTree(nodes).map(([name, value]) => `${name}=${value}`);

test('a click sets a filter, the same click removes it, another one replaces it', () => {
  const [state, customer] = divisionsOf(order);
  const slice = (value: string | null) => ({ value, name: '', count: 1, figure: '1' });
  const open = sliceFilter(state ?? missing(), slice('open'));
  const one = toggled(readTree([['_cnd[total][gte]', '5']]), open);
  expect(written(one)).toEqual(['_cnd[total][gte]=5', '_cnd[state][eq]=open']);
  expect(isFiltered(one, open)).toBe(true);
  expect(written(toggled(one, open))).toEqual(['_cnd[total][gte]=5']);
  expect(written(toggled(one, sliceFilter(state ?? missing(), slice(null))))).toEqual([
    '_cnd[total][gte]=5',
    '_cnd[state][null]=true',
  ]);
  expect(written(toggled(one, sliceFilter(customer ?? missing(), slice('7'))))).toContain('_cnd[customer][eq]=7');
  const month = toggled([], monthFilter(named('placed'), '2026-12'));
  const limits = (from: string, to: string) => [
    `_cnd[placed][gte]=${new Date(`${from}T00:00`).toISOString()}`,
    `_cnd[placed][lt]=${new Date(`${to}T00:00`).toISOString()}`,
  ];
  expect(written(month)).toEqual(limits('2026-12-01', '2027-01-01'));
  expect(written(toggled(month, monthFilter(named('placed'), '2026-11')))).toEqual(limits('2026-11-01', '2026-12-01'));
});

test('months', () => {
  expect(monthsBefore('2026-02', 3)).toEqual(['2025-12', '2026-01', '2026-02']);
  expect(monthDays('2026-12')).toEqual({ from: '2026-12-01', to: '2027-01-01' });
  expect(monthText('2026-12', 'en')).toBe('December 2026');
  expect(monthText('2026-12', 'de', 'short')).toBe('Dez. 2026');
});

test.each([
  ['2026-12-01', '2027-01-01', '2026-12'],
  ['2026-11-01T00:00:00Z', '2026-12-01T00:00:00.000Z', '2026-11'],
  ['2026-11-01', '2027-01-01', undefined],
  ['2026-11-02', '2026-12-01', undefined],
  ['x', '2026-12-01', undefined],
])('from %s to before %s is %s', (from, to, month) => {
  expect(monthBetween(from, to)).toBe(month);
});
