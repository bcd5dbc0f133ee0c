import { encodeCursor } from '../../engine/query/paging.ts';
import { faultsOf, list, problemOf } from '../support/library.ts';

describe('cursors', () => {
  const page = '_cnd[limit]=0&_cnd[limit]=20';
  const cursorOf = (search: string, values: Parameters<typeof encodeCursor>[1]): string =>
    encodeCursor(list(search), values) ?? '';
  const forged = (search: string, change: (content: unknown[]) => unknown): string => {
    const content: unknown[] = JSON.parse(Buffer.from(cursorOf(search, [5, 7]), 'base64url').toString());
    return Buffer.from(JSON.stringify(change(content))).toString('base64url');
  };

  test.each<[string, string, boolean]>([
    [page, '_cnd[limit][1]=7', true],
    [page, `${page}&include=author&fields=author`, true],
    [page, `${page}&_cnd[orderBy]=position&_cnd[orderBy]=desc`, true],
    [`${page}&_cnd[pages]=1&_cnd[title]=x`, `${page}&_cnd[title][eq]=x&_cnd[pages]=1`, true],
    [page, `${page}&_cnd[orderBy]=position`, false],
    [page, `${page}&_cnd[orderBy]=pages&_cnd[orderBy]=desc`, false],
    [page, `${page}&_cnd[pages]=1`, false],
    [`${page}&_cnd[pages]=1`, `${page}&_cnd[pages]=2`, false],
    [`${page}&_cnd[pages]=1`, `${page}&_cnd[pages][ne]=1`, false],
    [`${page}&_cnd[pages]=1&_cnd[title]=x`, `${page}&_cnd[pages]=1&_cnd[title]=y`, false],
    [`${page}&_cnd[pages]=1`, `${page}&_cnd[position]=1`, false],
  ])('a cursor of ?%s fits ?%s: %s', (one, other, fits) => {
    const search = `${other}&after=${cursorOf(one, [5, 7])}`;
    if (fits) expect(list(search).cursor?.values).toEqual([5, 7]);
    else
      expect(problemOf(() => list(search)).errors).toEqual([
        { parameter: 'after', code: 'invalid-cursor', message: expect.stringContaining('another') },
      ]);
  });

  test.each<[string, (content: unknown[]) => unknown]>([
    ['a value less', (content) => content.slice(0, -1)],
    ['a value more', (content) => [...content, 1]],
    ['a string for an integer', ([bound]) => [bound, '5', 7]],
    ['a fraction for an integer', ([bound]) => [bound, 5.5, 7]],
    ['true for an integer', ([bound]) => [bound, true, 7]],
    ['an object', ([bound]) => [bound, {}, 7]],
    ['an array', ([bound]) => [bound, [5], 7]],
    ['an array of an array', ([bound]) => [bound, 5, [[7]]]],
    ['an integer too large', ([bound]) => [bound, 2 ** 53, 7]],
    ['no identifier', ([bound]) => [bound, 5, null]],
    ['another binding', ([, ...values]) => ['x', ...values]],
    ['no array', () => ({ length: 3 })],
    ['null', () => null],
  ])('a forged cursor with %s is refused', (_title, change) => {
    expect(list(`${page}&after=${forged(page, (content) => content)}`).cursor?.values).toEqual([5, 7]);
    expect(faultsOf(() => list(`${page}&after=${forged(page, change)}`))).toEqual(['after: invalid-cursor']);
  });

  test.each(['a\0', '\ud800'])('a forged cursor with the text %j is refused', (text) => {
    const search = `${page}&_cnd[orderBy]=title`;
    expect(faultsOf(() => list(`${search}&after=${cursorOf(search, [text, 7])}`))).toEqual(['after: invalid-cursor']);
  });

  test.each(['', 'x', '%20', '!', 'bnVsbA', 'e30', 'W10', 'WyI'])('after=%s is refused', (cursor) => {
    expect(faultsOf(() => list(`${page}&after=${cursor}`))).toEqual(['after: invalid-cursor']);
  });
});
