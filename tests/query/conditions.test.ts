/** Groups and conditions on sets, compared with their meaning in plain JavaScript. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ask } from '../support/ask.ts';
import fc from '../support/fast-check.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

interface Row {
  readonly id: number;
  readonly values: Readonly<Record<string, string | number | null>>;
  /** One record or none, or the records of a set. */
  readonly links: Record<string, readonly Row[]>;
}
type Kind = 'bands' | 'albums' | 'genres';

const FIELDS = { bands: ['name', 'born'], albums: ['title', 'sold', 'price'], genres: ['name'] } as const;
const ONE: Readonly<Record<Kind, Readonly<Record<string, Kind>>>> = {
  bands: { mentor: 'bands' },
  albums: { band: 'bands' },
  genres: {},
};
const MANY: Readonly<Record<Kind, Readonly<Record<string, Kind>>>> = {
  bands: { albums: 'albums' },
  albums: { genres: 'genres' },
  genres: { albums: 'albums' },
};
const TEXTS = [null, '', 'a', 'B', 'ab'] as const;
const NUMBERS = [null, -1, 0, 3] as const;
const PRICES = [null, '0.00', '1.50', '10.00'] as const;
const valuesOf = (field: string): readonly (string | number | null)[] =>
  field === 'price' ? PRICES : field === 'born' || field === 'sold' ? NUMBERS : TEXTS;

const all: Record<Kind, Row[]> = { bands: [], albums: [], genres: [] };
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({
    schemaDirectory: 'tests/fixtures/conditions',
    settings: { maxFilters: 50 },
  });
  // Coprime strides reach every combination.
  for (let index = 0; index < 4; index += 1) await make('genres', { name: TEXTS[index] ?? null }, {});
  for (let index = 0; index < 8; index += 1) {
    const mentor = index % 3 === 0 ? [] : all.bands.slice(index - 1, index);
    await make('bands', { name: TEXTS[index % 5] ?? null, born: NUMBERS[index % 4] ?? null }, { mentor });
  }
  for (let index = 0; index < 24; index += 1) {
    const band = index % 5 === 0 ? [] : all.bands.slice((index * 3) % 7, ((index * 3) % 7) + 1);
    const genres = all.genres.filter((_, place) => (index * 5 + place * 3) % 4 < index % 3);
    const values = {
      title: TEXTS[index % 5] ?? null,
      sold: NUMBERS[index % 4] ?? null,
      price: PRICES[index % 3] ?? null,
    };
    await make('albums', values, { band, genres });
  }
});
afterAll(() => server.close());

async function make(kind: Kind, values: Row['values'], links: Record<string, readonly Row[]>): Promise<void> {
  const linked = Object.entries(links).map(([name, rows]) => {
    const targets = rows.map(({ id }) => ({ id }));
    return [name, name in MANY[kind] ? targets : (targets[0] ?? null)];
  });
  const { status, body } = await ask(server.url, `POST /api/${kind}`, { ...values, ...Object.fromEntries(linked) });
  expect({ status, body }).toMatchObject({ status: 201 });
  const row: Row = { id: (body as { id: number }).id, values, links: { albums: [], ...links } };
  all[kind].push(row);
  if (kind === 'albums')
    for (const other of [...(links['band'] ?? []), ...(links['genres'] ?? [])])
      other.links['albums'] = [...(other.links['albums'] ?? []), row];
}

// A condition: what it means, and its parts of a query string, without `_cnd`.

interface Meant {
  readonly holds: (row: Row) => boolean;
  /** Keys and values. */
  readonly parts: readonly (readonly [string, string])[];
}

const inside = (before: string, { parts }: Meant): Meant['parts'] =>
  parts.map(([key, value]) => [`${before}${key}`, value]);

const key = (value: string | number | null | undefined): number => (value == null ? NaN : Number(value));
const HOLDS: Readonly<Record<string, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  gte: (order) => order >= 0,
};

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' || /^-?\d/.test(a)) return key(a) - key(b);
  return Buffer.compare(Buffer.from(a), Buffer.from(String(b)));
}

/** A field, perhaps of the record that a relation leads to, compared with a value. */
const comparison = (kind: Kind): fc.Arbitrary<Meant> => {
  const direct = FIELDS[kind].map((field) => ({ path: field, field, follow: (row: Row): Row | undefined => row }));
  const far = Object.entries(ONE[kind]).flatMap(([name, target]) =>
    FIELDS[target].map((field) => ({
      path: `${name}.${field}`,
      field,
      follow: (row: Row): Row | undefined => row.links[name]?.[0],
    })),
  );
  return fc
    .record({
      place: fc.constantFrom(...direct, ...far),
      operator: fc.constantFrom('eq', 'ne', 'lt', 'gte', 'null'),
      pick: fc.nat(2),
    })
    .map(({ place: { path, field, follow }, operator, pick }) => {
      const found = (row: Row) => follow(row)?.values[field] ?? null;
      if (operator === 'null')
        return { holds: (row) => (found(row) === null) === pick > 0, parts: [[`[${path}][null]`, String(pick > 0)]] };
      const operand = valuesOf(field)[pick + 1] ?? 0;
      const holds = (row: Row): boolean => {
        const value = found(row);
        return value === null ? operator === 'ne' : (HOLDS[operator]?.(compare(value, operand)) ?? false);
      };
      return { holds, parts: [[operator === 'eq' ? `[${path}]` : `[${path}][${operator}]`, String(operand)]] };
    });
};

/** All of an item's conditions hold. Conditions on the same value would be given twice. */
const itemOf = (conditions: readonly Meant[]): Meant => {
  const seen = new Set<string>();
  const kept = conditions.filter(({ parts }) => {
    const isNew = parts.every(([path]) => !seen.has(path.split('][0]', 1)[0] ?? path));
    for (const [path] of parts) seen.add(path.split('][0]', 1)[0] ?? path);
    return isNew;
  });
  return { holds: (row) => kept.every(({ holds }) => holds(row)), parts: kept.flatMap(({ parts }) => parts) };
};

const condition = (kind: Kind, groups: number, sets: number): fc.Arbitrary<Meant> => {
  const items = (of: Kind, left: number, setsLeft: number) =>
    fc.array(fc.array(condition(of, left, setsLeft), { minLength: 1, maxLength: 2 }).map(itemOf), {
      minLength: 1,
      maxLength: 2,
    });
  const choices = [{ arbitrary: comparison(kind), weight: 3 }];
  if (groups > 0)
    choices.push({
      arbitrary: fc
        .record({ word: fc.constantFrom('any', 'all', 'none'), all: items(kind, groups - 1, sets) })
        .map(({ word, all: found }) => ({
          holds: (row) => {
            const held = found.filter(({ holds }) => holds(row)).length;
            return word === 'any' ? held > 0 : word === 'all' ? held === found.length : held === 0;
          },
          parts: found.flatMap((item, index) => inside(`[$${word}][${index}]`, item)),
        })),
      weight: 2,
    });
  if (sets > 0) {
    const [name = '', target] = Object.entries(MANY[kind])[0] ?? [];
    if (target) {
      const rows = (row: Row): readonly Row[] => row.links[name] ?? [];
      choices.push(
        {
          arbitrary: fc
            .record({ word: fc.constantFrom('some', 'none', 'every'), all: items(target, groups, sets - 1) })
            .map(({ word, all: found }) => ({
              holds: (row) =>
                found.every(({ holds }) => {
                  const held = rows(row).filter(holds).length;
                  return word === 'some' ? held > 0 : word === 'none' ? held === 0 : held === rows(row).length;
                }),
              parts: found.flatMap((item, index) => inside(`[${name}][$${word}][${index}]`, item)),
            })),
          weight: 2,
        },
        {
          arbitrary: fc
            .record({ operator: fc.constantFrom('eq', 'ne', 'lt', 'gte'), count: fc.nat(3) })
            .map((asked) => ({
              holds: (row) => HOLDS[asked.operator]?.(rows(row).length - asked.count) ?? false,
              parts: [[`[${name}][$count][${asked.operator}]`, String(asked.count)]],
            })),
          weight: 1,
        },
        {
          arbitrary: comparison(target).map((inner) => ({
            holds: (row) => rows(row).some(inner.holds),
            parts: inner.parts.map(([path, value]) => [`[${name}.${path.slice(1)}`, value]),
          })),
          weight: 1,
        },
      );
    }
  }
  return fc.oneof(...choices);
};

/** Within the limits of filters and joins. */
const isSmall = ({ parts }: Meant): boolean => parts.length <= 12;

const runs = Number(process.env['RUNS'] ?? 150);

it.each<Kind>(['bands', 'albums', 'genres'])(
  'random conditions on %s find what they mean',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(condition(kind, 3, 2).filter(isSmall), async ({ holds, parts }) => {
        const search = parts.map(([path, value]) => `_cnd${path}=${encodeURIComponent(value)}`).join('&');
        const whole = `GET /api/${kind}?${search}&fields=id&_cnd[limit]=0&_cnd[limit]=100`;
        const { status, body, headers } = await ask(server.url, whole);
        const expected = all[kind].filter(holds).map(({ id }) => ({ id }));
        expect({ search, status, body }).toEqual({ search, status: 200, body: expected });
        expect(headers.get('x-total-count')).toBe(String(expected.length));
      }),
      { numRuns: runs },
    );
  },
  600_000,
);
