import { includesOf } from '../../studio/data/includes.ts';
import { readModel, type StudioModel, typeNamed } from '../../studio/data/model.ts';

type Words = Readonly<Record<string, unknown>>;

const relation = (kind: string, type: string, words: Words = {}): Words => ({
  kind,
  type,
  title: type,
  nested: words['owned'] === true ? 'write' : 'link',
  fields: [],
  operators: [],
  ...words,
});

/** Types without a list, except those of `listed`. */
const modelOf = (types: Readonly<Record<string, Readonly<Record<string, Words>>>>, maxIncludes = 100): StudioModel =>
  readModel(
    JSON.stringify({
      limits: { maxIncludes },
      types: Object.entries(types).map(([type, relations]) => ({
        type,
        operations: type.startsWith('Listed') ? ['list', 'get'] : [],
        fields: {},
        relations,
      })),
    }),
  );

const LINES = relation('hasMany', 'Line', { owned: true, inverse: 'order' });
const ORDER = {
  Order: { lines: LINES, customer: relation('belongsTo', 'ListedCustomer') },
  Line: {
    order: relation('belongsTo', 'Order', { inverse: 'lines' }),
    product: relation('belongsTo', 'ListedProduct'),
  },
  ListedCustomer: { group: relation('belongsTo', 'Group') },
  ListedProduct: { maker: relation('belongsTo', 'Maker') },
  Group: {},
  Maker: {},
};
const MARKUP = {
  Markup: { zone: relation('belongsTo', 'Zone', { nested: 'write', inverse: 'markups' }) },
  Zone: {
    markups: relation('hasMany', 'Markup', { inverse: 'zone' }),
    elements: relation('hasMany', 'Element', { owned: true }),
  },
  Element: { country: relation('belongsTo', 'Country') },
  Country: {},
};

test.each([
  [
    'the product of a line, and nothing behind what is only linked',
    ORDER,
    'Order',
    ['lines', 'customer', 'lines.product'],
  ],
  [
    'the elements of a zone that is written through a markup',
    MARKUP,
    'Markup',
    ['zone', 'zone.elements', 'zone.elements.country'],
  ],
  [
    'a set that has a list of its own is left out',
    { A: { b: relation('hasMany', 'ListedB', { inverse: 'a' }) }, ListedB: {} },
    'A',
    [],
  ],
  [
    'a set that many share is not read through another record',
    {
      A: { b: relation('belongsTo', 'B', { nested: 'write' }) },
      B: { cs: relation('hasMany', 'C', { inverse: 'b' }) },
      C: {},
    },
    'A',
    ['b'],
  ],
  [
    'a relation that may not be written',
    {
      A: { b: relation('belongsTo', 'B', { nested: 'write', readOnly: true }) },
      B: { c: relation('belongsTo', 'C') },
      C: {},
    },
    'A',
    ['b'],
  ],
  ['a tree of owned records ends', { A: { children: relation('hasMany', 'A', { owned: true }) } }, 'A', ['children']],
] as const)('%s', (_, types, name, expected) => {
  const model = modelOf(types);
  expect(includesOf(model, typeNamed(model, name))).toEqual(expected);
});

test('a request that cannot show all of them has the nearest', () => {
  const model = modelOf(ORDER, 2);
  expect(includesOf(model, typeNamed(model, 'Order'))).toEqual(['lines', 'customer']);
});
