/** What tabs of the studio tell each other, and what a tab remembers of its lists. */
import { keepList, listAddress } from '../../studio/app/kept-lists.ts';
import { answerTabs, askTabs } from '../../studio/data/shared-token.ts';

test('a list is opened as it was left', () => {
  expect(listAddress('orders')).toBe('/orders');
  keepList('orders', '?state=open&$page=2');
  expect([listAddress('orders'), listAddress('customers')]).toEqual(['/orders?state=open&$page=2', '/customers']);
});

test.each([
  [null, undefined],
  ['no token, since it has spaces', undefined],
  ['abc.DEF~1', 'abc.DEF~1'],
])('a new tab asks one whose token is %j', async (kept, expected) => {
  const channels: BroadcastChannel[] = [];
  const { BroadcastChannel: Original } = globalThis;
  Object.assign(globalThis, {
    sessionStorage: { getItem: () => kept },
    BroadcastChannel: class extends Original {
      constructor(name: string) {
        super(name);
        channels.push(this);
      }
    },
  });
  try {
    answerTabs();
    expect(await askTabs()).toBe(expected);
  } finally {
    for (const channel of channels) channel.close();
    Object.assign(globalThis, { BroadcastChannel: Original, sessionStorage: undefined });
  }
});
