/** The idempotency keys that the studio sends. */
import { createAttempts } from '../../studio/data/attempts.ts';

const write = (body: string, tag = '"1"') =>
  ({ method: 'PUT', target: 'books/1', headers: { 'If-Match': tag }, body: { title: body } }) as const;
const keyOf = (sent: { readonly headers?: Readonly<Record<string, string>> }) => sent.headers?.['Idempotency-Key'];

test('the same write again has the same key', () => {
  const attempts = createAttempts();
  expect(keyOf(attempts.keyed(write('a')))).toBe(keyOf(attempts.keyed(write('a'))));
});

test.each([
  ['another body', write('b')],
  ['another tag', write('a', '"2"')],
])('%s has another key', (_, other) => {
  const attempts = createAttempts();
  expect(keyOf(attempts.keyed(write('a')))).not.toBe(keyOf(attempts.keyed(other)));
});

test('after an answer, the same write is a new one', () => {
  const attempts = createAttempts();
  const first = keyOf(attempts.keyed(write('a')));
  attempts.done();
  expect(keyOf(attempts.keyed(write('a')))).not.toBe(first);
});
