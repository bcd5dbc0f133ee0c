/** What the form of the studio does with another version of the record, and with what is typed while it is saved. */
import { mergeOf, typedSince } from '../../studio/forms/merge.ts';

const KEYS = ['$a', '$b', '$c'];
const BEGAN = { $a: 'a', $b: 'b', $c: 'c' };

test.each([
  ['only I changed a field', { $a: 'mine' }, {}, { asked: [], mine: ['$a'], isSaved: false }],
  ['only they changed a field', {}, { $b: 'theirs' }, { asked: [], mine: [], isSaved: false }],
  ['each changed another field', { $a: 'mine' }, { $b: 'theirs' }, { asked: [], mine: ['$a'], isSaved: false }],
  ['both changed one field', { $a: 'mine' }, { $a: 'theirs' }, { asked: ['$a'], mine: [], isSaved: false }],
  ['both changed it alike', { $a: 'same', $b: 'm' }, { $a: 'same' }, { asked: [], mine: ['$b'], isSaved: false }],
  ['what I sent is stored', { $a: 'mine' }, { $a: 'mine' }, { asked: [], mine: [], isSaved: true }],
  ['what I sent is stored, and more', { $a: 'mine' }, { $a: 'mine', $c: 'x' }, { asked: [], mine: [], isSaved: true }],
])('%s', (_, mine, theirs, expected) => {
  expect(mergeOf(KEYS, BEGAN, { ...BEGAN, ...mine }, { ...BEGAN, ...theirs })).toEqual(expected);
});

test('an owned record that was opened and not changed is no change', () => {
  const item = { id: '1', name: 'x', record: null, stored: { $t: 'x' } };
  const opened = { ...item, record: { $t: 'x' } };
  expect(mergeOf(['$o'], { $o: [item] }, { $o: [opened] }, { $o: [item] })).toEqual({
    asked: [],
    mine: [],
    isSaved: false,
  });
});

test('keeps what was typed after the request was sent', () => {
  expect(typedSince({ $a: 'sent', $b: 'b' }, { $a: 'later', $b: 'b' })).toEqual({ $a: 'later' });
});
