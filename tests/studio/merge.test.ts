/** What the form of the studio does with another version of the record, and with what is typed while it is saved. */
import type { Item, RecordDraft } from '../../studio/forms/draft.ts';
import { readModel, typeNamed } from '../../studio/data/model.ts';
import { mergeOf, typedSince } from '../../studio/forms/merge.ts';

const field = (title: string) => ({ title, type: 'string', examples: [], operators: [], isOrderIndexed: false });
const relation = (type: string, kind: string, words: object = {}) => ({
  title: `${type}s`,
  kind,
  type,
  label: 'name',
  fields: ['name'],
  nested: 'write',
  operators: [],
  readOnly: false,
  canCreate: true,
  shown: true,
  ...words,
});
const type = (name: string, fields: object, relations: object = {}) => ({
  type: name,
  path: name,
  title: { one: name, many: name },
  label: null,
  open: false,
  identifier: { name: 'id', title: 'ID', inRecord: true, operators: [] },
  operations: [],
  fields,
  relations,
  foundThrough: [],
  order: [],
  unique: [],
  indexes: [],
  list: { maxLimit: 100 },
});
const model = readModel(
  JSON.stringify({
    limits: {},
    types: [
      type(
        'Order',
        { a: field('A'), b: field('B'), c: field('C') },
        {
          lines: relation('Line', 'hasMany', { owned: true }),
          tags: relation('Tag', 'manyToMany', { nested: 'link' }),
        },
      ),
      type('Line', { count: field('Count'), price: field('Price') }),
      type('Tag', { name: field('Name') }),
    ],
  }),
);
const order = typeNamed(model, 'Order');
const merged = (was: RecordDraft, mine: RecordDraft, theirs: RecordDraft, side: 'mine' | 'theirs' = 'mine') => {
  const { draft, questions, isSaved } = mergeOf(model, order, { was, mine, theirs }, () => side);
  return { draft, asked: questions.map(({ within, title }) => [...within, title].join(' > ')), isSaved };
};

const BEGAN = { $a: 'a', $b: 'b', $c: 'c' };
test.each([
  ['only I changed a field', { $a: 'mine' }, {}, [], { $a: 'mine' }, false],
  ['only they changed a field', {}, { $b: 'theirs' }, [], { $b: 'theirs' }, false],
  ['each changed another field', { $a: 'mine' }, { $b: 'theirs' }, [], { $a: 'mine', $b: 'theirs' }, false],
  ['both changed one field', { $a: 'mine' }, { $a: 'theirs' }, ['A'], { $a: 'mine' }, false],
  ['both changed it alike', { $a: 'same', $b: 'm' }, { $a: 'same' }, [], { $a: 'same', $b: 'm' }, false],
  ['what I sent is stored', { $a: 'mine' }, { $a: 'mine' }, [], { $a: 'mine' }, true],
  ['what I sent is stored, and more', { $a: 'mine' }, { $a: 'mine', $c: 'x' }, [], { $a: 'mine', $c: 'x' }, true],
])('%s', (_, mine, theirs, asked, draft, isSaved) => {
  const expected = { asked, draft: { ...BEGAN, ...draft }, isSaved };
  expect(merged(BEGAN, { ...BEGAN, ...mine }, { ...BEGAN, ...theirs })).toEqual(expected);
});

const line = (id: string | null, count: string, price = '1'): Item => {
  const record = { $count: count, $price: price };
  return { id, name: `Line ${id}`, record, stored: id === null ? null : record };
};
const tag = (id: string): Item => ({ id, name: `Tag ${id}`, record: null, stored: null });
const linesIn = ({ $lines }: RecordDraft) =>
  ($lines as readonly Item[]).map(({ id, record }) => [id, record?.['$count'], record?.['$price']].join(' '));

test.each<[about: string, mine: readonly Item[], theirs: readonly Item[], asked: string[], kept: string[]]>([
  [
    'two people change two lines',
    [line('1', '9'), line('2', '2')],
    [line('1', '1'), line('2', '7')],
    [],
    ['1 9 1', '2 7 1'],
  ],
  [
    'two fields of a line',
    [line('1', '9'), line('2', '2')],
    [line('1', '1', '5'), line('2', '2')],
    [],
    ['1 9 5', '2 2 1'],
  ],
  [
    'one field of a line',
    [line('1', '9'), line('2', '2')],
    [line('1', '8'), line('2', '2')],
    ['Lines > Line 1 > Count'],
    ['1 9 1', '2 2 1'],
  ],
  [
    'each adds a line',
    [line('1', '1'), line('2', '2'), line(null, '3')],
    [line('1', '1'), line('2', '2'), line('4', '4')],
    [],
    ['1 1 1', '2 2 1', '4 4 1', ' 3 1'],
  ],
  ['each removes one', [line('2', '2')], [line('1', '1')], [], []],
  ['one removes what the other left', [line('2', '9')], [line('1', '1'), line('2', '2')], [], ['2 9 1']],
  [
    'one removes what the other changed',
    [line('2', '2')],
    [line('1', '8'), line('2', '2')],
    ['Lines > Line 1'],
    ['2 2 1'],
  ],
  [
    'one changes what the other removed',
    [line('1', '9'), line('2', '2')],
    [line('2', '2')],
    ['Lines > Line 1'],
    ['2 2 1', '1 9 1'],
  ],
])('lines of an order: %s', (_, mine, theirs, asked, kept) => {
  const result = merged({ $lines: [line('1', '1'), line('2', '2')] }, { $lines: mine }, { $lines: theirs });
  expect(result.asked).toEqual(asked);
  expect(linesIn(result.draft)).toEqual(kept);
});

test('a line that the other one changed comes back if theirs is chosen', () => {
  const was = { $lines: [line('1', '1')] };
  const result = merged(was, { $lines: [] }, { $lines: [line('1', '8')] }, 'theirs');
  expect(linesIn(result.draft)).toEqual(['1 8 1']);
});

test('links that each has added and removed are merged', () => {
  const [was, mine, theirs] = [
    ['1', '2'],
    ['2', '3'],
    ['1', '2', '4'],
  ].map((ids) => ({ $tags: ids.map(tag) }));
  const { draft, asked } = merged(was ?? {}, mine ?? {}, theirs ?? {});
  expect(asked).toEqual([]);
  expect((draft['$tags'] as readonly Item[]).map(({ id }) => id)).toEqual(['2', '4', '3']);
});

test('an owned record that was opened and not changed is no change', () => {
  const item = { id: '1', name: 'x', record: null, stored: { $count: 'x' } };
  const opened = { ...item, record: { $count: 'x' } };
  expect(merged({ $lines: [item] }, { $lines: [opened] }, { $lines: [item] })).toMatchObject({
    asked: [],
    isSaved: false,
  });
});

test('keeps what was typed after the request was sent', () => {
  expect(typedSince({ $a: 'sent', $b: 'b' }, { $a: 'later', $b: 'b' })).toEqual({ $a: 'later' });
});
