/** The second line of a record in the picker of the studio. */
import { NumberText } from '../../studio/data/json.ts';
import { readModel, typeNamed } from '../../studio/data/model.ts';
import { detailFields, detailOf } from '../../studio/fields/detail.ts';

const say = (key: string): string => key;
const common = { title: 'F', examples: [], operators: [], isOrderIndexed: false };

const typeOf = (fields: Readonly<Record<string, object>>, words: object = {}) => {
  const named = Object.entries(fields).map(([name, field]) => [name, { ...common, type: 'string', ...field }]);
  const type = { type: 'T', identifier: { name: 'id' }, operations: [], relations: {}, ...words };
  return typeNamed(readModel(JSON.stringify({ types: [{ ...type, fields: Object.fromEntries(named) }] })), 'T');
};

test.each([
  [
    'unique fields, then texts',
    { name: {}, total: { type: 'decimal' }, city: {}, email: { unique: true } },
    {},
    ['email', 'city'],
  ],
  [
    'not long texts, secrets and JSON',
    { a: { multiline: true }, b: { sensitive: true }, c: { type: 'any' }, d: { type: 'date' } },
    {},
    ['d'],
  ],
  [
    'not what the view leaves out',
    { a: {}, b: {} },
    { variants: { default: 'brief', omit: { brief: ['a'], full: [] } } },
    ['b'],
  ],
  ['none', { name: {} }, {}, []],
] as const)('%s', (_, fields, words, expected) => {
  expect(detailFields(typeOf(fields, words), 'name').map(({ name }) => name)).toEqual(expected);
});

test('the identifier is always there; values that are empty are left out', () => {
  const type = typeOf({ name: {}, email: { unique: true }, born: { type: 'date' } });
  const values = { id: new NumberText('7'), name: 'Müller', email: 'm@example.com', born: null };
  expect(detailOf(say, type, 'name', values, 'en')).toBe('7 · m@example.com');
  expect(detailOf(say, type, 'name', { ...values, email: null, born: '2001-02-03' }, 'en')).toBe('7 · Feb 3, 2001');
});
