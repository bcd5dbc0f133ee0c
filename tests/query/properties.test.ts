import { Problem } from '../../engine/problem.ts';
import { pageSearches, parseParameters } from '../../engine/query/parameters.ts';
import { list, orderText, view } from '../support/library.ts';
import fc from '../support/fast-check.ts';

describe('properties', () => {
  const often = { numRuns: 500 };
  const encode = encodeURIComponent;
  /** The ways to write an array. */
  const forms: readonly ((key: string, values: readonly string[]) => string[])[] = [
    (key, values) => values.map((value) => `${key}=${encode(value)}`),
    (key, values) => values.map((value) => `${encode(key)}=${encode(value)}`),
    (key, values) => values.map((value) => `${key}[]=${encode(value)}`),
    (key, values) => values.map((value, index) => `${key}[${index}]=${encode(value)}`).toReversed(),
  ];
  const form = fc.constantFrom(...forms);

  test('text is decoded as it was encoded, by either rule', () => {
    const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'));
    fc.assert(
      fc.property(text, text, (key, value) => {
        const expected = { all: [{ key: `k${key}`, steps: undefined, value }], faults: [] };
        expect(parseParameters(`k${encode(key)}=${encode(value)}`)).toEqual(expected);
        expect(parseParameters(new URLSearchParams([[`k${key}`, value]]).toString())).toEqual(expected);
      }),
      often,
    );
  });

  test('every form of a limit means the same', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat(100), form, (offset, limit, write) => {
        const search = write('_cnd[limit]', [String(offset), String(limit)]).join('&');
        expect(list(search)).toMatchObject({ offset, limit });
      }),
      often,
    );
  });

  test('every form of an order means the same', () => {
    const names = ['title', 'pages', 'author.name', 'editor.born', 'cover.image', 'price'];
    const terms = fc
      .shuffledSubarray(names, { minLength: 1 })
      .chain((chosen) =>
        fc.tuple(
          ...chosen.map((name) => fc.tuple(fc.constant(name), fc.constantFrom('', 'asc', 'desc', 'Desc', 'ASC'))),
        ),
      );
    fc.assert(
      fc.property(terms, form, (order, write) => {
        const texts = order.map(([name, direction]) => (/desc/i.test(direction) ? `${name} desc` : name));
        const expected = `${texts.join(', ')}, book_id${/desc/i.test(order.at(-1)?.[1] ?? '') ? ' desc' : ''}`;
        const items = order.map((term) => term.filter((word) => word !== ''));
        expect(orderText(list(write('_cnd[orderBy]', items.flat()).join('&')).order)).toBe(expected);
        const pairs = items.flatMap((pair, index) => write(`_cnd[orderBy][${index}]`, pair)).toReversed();
        const nested = pairs.every((piece) => /\]\[\d+\]\[\d+\]=/.test(piece));
        if (nested) expect(orderText(list(pairs.join('&')).order)).toBe(expected);
      }),
      often,
    );
  });

  test('the values of a filter come through whatever they are', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 50 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 100 }), form, (values, write) => {
        const { filters } = list(write('_cnd[title][in]', values).join('&'));
        expect(filters).toMatchObject([{ value: values }]);
      }),
      often,
    );
  });

  const words =
    '_cnd[limit] _cnd[orderBy] _cnd[title] _cnd[author.name] [0] [1] [] [in] [like] [null] [ ] = = & & % %5B %5d 0 1 20 title desc . , * include fields variant after before author mentor \u00e9 \u20ac \ud800'.split(
      ' ',
    );
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join('')),
  );

  test('garbage is accepted or refused with 400, never more', () => {
    let refused = 0;
    const attempt = (action: () => unknown): void => {
      try {
        action();
      } catch (error) {
        if (!(error instanceof Problem) || error.status !== 400 || error.errors.length === 0) throw error;
        refused += 1;
      }
    };
    fc.assert(
      fc.property(hostile, (search) => {
        attempt(() => list(search));
        attempt(() => view(search));
        attempt(() => pageSearches(search, 10)());
      }),
      { ...often, numRuns: 5000 },
    );
    expect(refused).toBeGreaterThan(1000);
  });
});
