/** What new records of the studio begin with; where each part of a record stands. */
import { parseJson, type ValueObject } from '../../studio/data/json.ts';
import { firstParts, inForm, readModel, typeNamed } from '../../studio/data/model.ts';
import { keyOf, newDraft, recordDraft } from '../../studio/forms/draft.ts';
import {
  duplicateAddress,
  likeDraft,
  newAddress,
  openAddress,
  openedDraft,
  prefilledBy,
} from '../../studio/forms/prefilled.ts';
import { layoutOf } from '../../studio/records/layout.ts';

const common = { examples: [], operators: ['eq'], isOrderIndexed: false, nullable: true };
const field = (type: string, words: object = {}) => ({ title: 'F', ...common, type, ...words });
const relation = (type: string, words: object = {}) => ({
  title: 'R',
  kind: 'belongsTo',
  type,
  label: 'name',
  fields: ['name'],
  nested: 'link',
  operators: ['eq'],
  readOnly: false,
  canCreate: true,
  shown: true,
  ...words,
});
const type = (name: string, fields: object, relations: object = {}, words: object = {}) => ({
  type: name,
  path: name.toLowerCase(),
  title: { one: name, many: `${name}s` },
  label: 'name',
  open: false,
  identifier: { name: 'id', title: 'ID', inRecord: true },
  operations: ['list', 'get', 'create', 'update'],
  fields,
  relations,
  foundThrough: [],
  order: [],
  unique: [],
  indexes: [],
  list: { maxLimit: 100 },
  ...words,
});

const model = readModel(
  JSON.stringify({
    limits: { maxIncludes: 20 },
    types: [
      type(
        'Order',
        {
          number: field('string', { unique: true, required: true }),
          placed: field('timestamp'),
          state: field('string', { enum: ['open', 'paid'] }),
          total: field('decimal', { scale: 2 }),
          note: field('string', { multiline: true }),
          made: field('timestamp', { generated: 'createdAt' }),
        },
        {
          customer: relation('Customer', { required: true }),
          zone: relation('Zone', { nested: 'write' }),
          lines: relation('Line', { kind: 'hasMany', owned: true, nested: 'write', inverse: 'order' }),
          parcels: relation('Parcel', { kind: 'hasMany', inverse: 'order' }),
          tags: relation('Tag', { kind: 'manyToMany' }),
        },
        { label: 'number' },
      ),
      type('Customer', {
        name: field('string', { required: true, maxLength: 10 }),
        code: field('string', { pattern: '^x$' }),
      }),
      type('Zone', { name: field('string') }, {}, { operations: [] }),
      type('Line', { name: field('string') }, { order: relation('Order', { inverse: 'lines' }) }, { operations: [] }),
      type('Parcel', { name: field('string') }, { order: relation('Order', { inverse: 'parcels' }) }),
      type('Tag', { name: field('string') }),
    ],
  }),
);
const order = typeNamed(model, 'Order');

const VALUES = parseJson(
  JSON.stringify({
    id: 5,
    number: 'N1',
    placed: '2026-11-25T00:00:00Z',
    state: 'paid',
    total: '9.50',
    note: 'x',
    made: '2026-11-25T00:00:00Z',
    customer: { id: 7, name: 'Ada' },
    zone: { id: 3, name: 'Alps' },
    lines: [{ id: 1, name: 'l' }],
    parcels: [{ id: 2, name: 'p' }],
    tags: [{ id: 4, name: 't' }],
  }),
) as ValueObject;

test('a copy of a record leaves unique fields empty, and takes no owned records', () => {
  const draft = likeDraft(order, recordDraft(model, order, VALUES));
  expect(draft).toMatchObject({ $state: 'paid', $total: '9.50', $customer: { id: '7' }, $tags: [{ id: '4' }] });
  expect([draft['$number'], draft['$parcels'], '$made' in draft]).toEqual([undefined, [], false]);
});

test('addresses of forms say what they begin with', () => {
  expect(duplicateAddress(order, '5')).toBe('/order/new?$from=5');
  expect(newAddress(order, { customer: '7' })).toBe('/order/new?customer=7');
  expect(openAddress(order, '5', 'zone')).toBe('/order/5/edit?$open=zone');
  expect(prefilledBy(model, order, '?$from=5')).toEqual({ from: '5', links: [] });
  expect(prefilledBy(model, order, '?customer=7&zone=x&lines=1&number=9')).toEqual({
    from: undefined,
    links: [['customer', '7']],
  });
});

test('the inputs of a related record are open where the address says so', () => {
  const draft = recordDraft(model, order, VALUES);
  expect(openedDraft('?$open=zone', draft)).toMatchObject({ $zone: { id: '3', record: { $name: 'Alps' } } });
  for (const search of ['', '?$open=lines', '?$open=nothing']) expect(openedDraft(search, draft)).toBe(draft);
});

test('state and amounts stand in the head, short facts in the rail, the rest in the middle', () => {
  const { state, figures, fields, relations, rail } = layoutOf(model, order, VALUES);
  const names = (all: readonly { readonly name: string }[]): readonly string[] => all.map(({ name }) => name);
  expect([state?.name, names(figures), names(fields), names(relations)]).toEqual([
    'state',
    ['total'],
    ['note'],
    ['zone'],
  ]);
  expect([names(rail.fields), names(rail.relations)]).toEqual([['placed', 'made'], ['customer']]);
});

test.each([
  ['{last}, {first}', 'Meyer, Anna', ['Meyer, Anna', 'Meyer']],
  ['{last}, {first}', 'von, zu, Anna', ['von, zu, Anna', 'von', 'von, zu']],
  ['No. {number} ({year})', 'No. 7 (2030)', ['No. 7 (2030)', '7', '7 (2030)']],
  ['{name}', 'Anna', ['Anna']],
  [undefined, 'Anna', ['Anna']],
])('of the label %j, %j may begin with the values %j', (labelText, name, values) => {
  expect(firstParts({ ...order, ...(labelText === undefined ? {} : { labelText }) }, name)).toEqual(values);
});

test('a form has what its client chooses there, and asks for nothing else', () => {
  const text = JSON.stringify({
    limits: {},
    types: [
      type(
        'Order',
        { number: field('string', { required: true, chosenOn: 'create' }), note: field('string') },
        { buyer: relation('Order', { readOnly: true }), place: relation('Order', { chosenOn: 'update' }) },
      ),
    ],
  });
  const limited = typeNamed(readModel(text), 'Order');
  const chosen = (write: 'create' | 'update') => Object.keys(newDraft(inForm(limited, write)));
  expect(chosen('create')).toEqual(['number', 'note'].map(keyOf));
  expect(chosen('update')).toEqual(['note', 'place'].map(keyOf));
});

test('a default of now is left to the service, and a text that says so is none', () => {
  const visit = typeNamed(
    readModel(
      JSON.stringify({
        limits: {},
        types: [
          type('Visit', {
            day: field('date', { default: 'now' }),
            begun: field('timestamp', { default: 'now' }),
            ends: field('date', { default: '2030-01-31' }),
            mode: field('string', { default: 'now' }),
          }),
        ],
      }),
    ),
    'Visit',
  );
  expect(newDraft(visit)).toEqual({ $day: undefined, $begun: undefined, $ends: '2030-01-31', $mode: 'now' });
});
