/** What docs/guides/studio.md says of descriptors is about keys that there are, and of keys that are for people none is missing. */
import { readFileSync } from 'node:fs';
import { fieldWords, grammar, keysOf, relationWords } from '../../engine/descriptor/grammar.ts';

const text = readFileSync('docs/guides/studio.md', 'utf8');
const cells = text
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|')[1] ?? '');

/** `list: { columns, order }` names `list`, `columns` and `order`. */
const named = cells.flatMap((cell) =>
  [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => {
    const [key = '', value = ''] = code.split(':');
    const inner = /\{(.*)\}/.exec(value)?.[1] ?? '';
    return [key, ...inner.split(',')].map((name) => name.trim()).filter(Boolean);
  }),
);

const keys = new Set([
  ...Object.keys(grammar.properties),
  ...Object.keys(keysOf('fieldWords')),
  ...fieldWords.keys(),
  ...relationWords.keys(),
  ...Object.keys((grammar.properties['list'] as { properties?: object } | undefined)?.properties ?? {}),
]);

test('the keys in the table are keys of descriptors', () => {
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !keys.has(name))).toEqual([]);
});

test.each(['title', 'description', 'label', 'section', 'shows', 'columns', 'order', 'titles', 'multiline', 'examples'])(
  'the table has the key %s, which is there for people',
  (name) => expect(named).toContain(name),
);
