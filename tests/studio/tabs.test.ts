/** What a tab of the studio remembers of its lists. */
import { keepList, listAddress } from '../../studio/app/kept-lists.ts';

test('a list is opened as it was left', () => {
  expect(listAddress('orders')).toBe('/orders');
  keepList('orders', '?state=open&$page=2');
  expect([listAddress('orders'), listAddress('customers')]).toEqual(['/orders?state=open&$page=2', '/customers']);
});
