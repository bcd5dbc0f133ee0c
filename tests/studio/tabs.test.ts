/** What a tab of the studio remembers of its lists. */
import { keepList, keepSeen, listAddress, neighbourAt, neighboursOf } from '../../studio/app/kept-lists.ts';
import type { Value } from '../../studio/data/json.ts';
import type { TypeInfo } from '../../studio/data/model.ts';

test('a list is opened as it was left', () => {
  expect(listAddress('orders')).toBe('/orders');
  keepList('orders', '?state=open&$page=2');
  expect([listAddress('orders'), listAddress('customers')]).toEqual(['/orders?state=open&$page=2', '/customers']);
});

test('finds the previous and next record in list order, across pages', async () => {
  const type = { path: 'orders', identifier: { name: 'id' } } as unknown as TypeInfo;
  const asked: string[] = [];
  const read = async (target: string): Promise<Value> => {
    asked.push(target);
    return Promise.resolve(target === 'at 12' ? [] : [{ id: target.slice(3) }]);
  };
  keepSeen('orders', { from: 10, ids: ['a', 'b'], targetAt: (place) => `at ${place}` });
  expect(neighboursOf('orders', 'x')).toEqual({});
  expect(neighboursOf('others', 'a')).toEqual({});
  const { before = never(), after = never() } = neighboursOf('orders', 'a');
  expect(await neighbourAt(type, after, read)).toBe('b');
  expect(await neighbourAt(type, before, read)).toBe('9');
  expect(neighboursOf('orders', '9')).toEqual({ before: { place: 8, id: undefined }, after: { place: 10, id: 'a' } });
  const last = neighboursOf('orders', 'b').after ?? never();
  expect(await neighbourAt(type, last, read)).toBe(undefined);
  keepSeen('orders', { from: 0, ids: ['a'], targetAt: String });
  expect(neighboursOf('orders', 'a').before).toBe(undefined);
  expect(asked).toEqual(['at 9', 'at 12']);
});

const never = (): never => {
  throw new Error('there is none');
};
