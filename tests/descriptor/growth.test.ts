/** Reading a descriptor takes work that grows with its size, and not with its square. */
import { parseDocument } from 'yaml';
import { toJson } from '../../engine/descriptor/to-json.ts';
import { parsePattern } from '../../engine/patterns/parse.ts';

afterEach(() => void jest.restoreAllMocks());

test('a mapping with 5,000 keys: they are listed once', () => {
  const keys = Array.from({ length: 5000 }, (_, index) => `k${index}`);
  const document = parseDocument(`seed: [{ ${keys.map((key) => `${key}: 1`).join(', ')} }]`);
  const listed = jest.spyOn(Map.prototype, 'keys');
  const { value } = toJson(document);
  expect(listed.mock.calls.length).toBeLessThan(10);
  expect(value).toEqual({ seed: [Object.fromEntries(keys.map((key) => [key, 1]))] });
});

test('ten properties of Unicode: its characters are listed once', () => {
  const listed = jest.spyOn(Uint16Array, 'from');
  for (const name of ['L', 'Lu', 'Ll', 'N', 'Nd', 'P', 'S', 'Z', 'Script=Greek', 'Emoji'])
    parsePattern(`^\\p{${name}}$`);
  const all = listed.mock.calls.reduce((sum, [units]) => sum + [...(units as Iterable<number>)].length, 0);
  // None, where another test in this process has listed them already.
  expect(all).toBeLessThan(500_000);
});
