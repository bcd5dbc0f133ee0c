/** The lists to which a refused deletion leads: they show the records that hold what refers to the record. */
import { readModel, typeNamed } from '../../studio/data/model.ts';
import { holders } from '../../studio/many/uses.ts';

const link = (type: string, words: object = {}) => ({ title: type, kind: 'belongsTo', type, label: null, ...words });
const set = (type: string, words: object = {}) => link(type, { kind: 'hasMany', ...words });
const type = (name: string, relations: object, ways: readonly (readonly [string, string])[] = []) => ({
  type: name,
  path: name.toLowerCase(),
  title: { one: name, many: `${name}s` },
  label: null,
  identifier: { name: 'id' },
  operations: ways.length > 0 ? [] : ['list', 'get'],
  fields: {},
  relations,
  foundThrough: ways.map(([holder, relation]) => ({ type: holder, relation, toMany: true })),
});

const model = readModel(
  JSON.stringify({
    types: [
      type('Material', { uses: set('Use', { inverse: 'material' }) }),
      type('Repair', { lines: set('Line', { owned: true }), bill: link('Bill', { kind: 'hasOne', owned: true }) }),
      type('Customer', { repairs: set('Repair'), note: link('Note') }),
      type('Line', { uses: set('Use', { owned: true, inverse: 'line' }) }, [['Repair', 'lines']]),
      type('Bill', { material: link('Material') }, [['Repair', 'bill']]),
      type('Note', { material: link('Material') }, [['Customer', 'note']]),
      type('Use', { material: link('Material'), line: link('Line') }, [
        ['Material', 'uses'],
        ['Repair', 'lines.uses'],
        ['Customer', 'repairs.lines.uses'],
      ]),
    ],
  }),
);

test.each([
  ['Use', 'material', 'Repair', '_cnd[lines][$some][0][uses][$some][0][material][eq]'],
  ['Bill', 'material', 'Repair', '_cnd[bill.material][eq]'],
  ['Note', 'material', 'Customer', '_cnd[note.material][eq]'],
  ['Customer', 'note', 'Customer', '_cnd[note][eq]'],
])('records whose %s has this %s are found among those of %s by %s', (name, relation, holder, condition) => {
  const found = holders(model, typeNamed(model, name), relation, '7');
  expect(found.map((one) => [one.type.type, one.where])).toEqual([[holder, [[condition, '7']]]]);
});
