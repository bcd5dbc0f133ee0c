/** Reading a descriptor takes work that grows with its size, and not with its square. */
import { parseDocument } from 'yaml';
import { toJson } from '../../engine/descriptor/to-json.ts';

afterEach(() => void jest.restoreAllMocks());

test('a mapping with 5,000 keys: they are listed once', () => {
  const keys = Array.from({ length: 5000 }, (_, index) => `k${index}`);
  const document = parseDocument(`seed: [{ ${keys.map((key) => `${key}: 1`).join(', ')} }]`);
  const listed = jest.spyOn(Map.prototype, 'keys');
  const { value } = toJson(document);
  expect(listed.mock.calls.length).toBeLessThan(10);
  expect(value).toEqual({ seed: [Object.fromEntries(keys.map((key) => [key, 1]))] });
});
