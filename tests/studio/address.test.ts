import { addressSearch, librarySearch } from '../../studio/data/address.ts';

interface Written {
  readonly where?: string;
  readonly q?: string;
  readonly [name: string]: string | undefined;
}

function library({ where, q, ...rest }: Written): string {
  const filter = { ...(where === undefined ? {} : { where }), ...(q === undefined ? {} : { q }) };
  const named = Object.entries(rest).map(([name, value = '']): [string, string] => [name, value]);
  return new URLSearchParams([['filter', JSON.stringify(filter)], ...named]).toString();
}

test.each([
  [{}, ''],
  [{ where: '_cnd[state][eq]=open', sort: 'total', order: 'DESC', q: 'hero' }, '?state=open&$q=hero&$sort=-total'],
  [{ sort: 'total', order: 'ASC', page: '2', perPage: '50' }, '?$sort=total&$page=2&$size=50'],
  [{ page: '1', perPage: '25', sort: '', order: 'ASC' }, ''],
  [{ where: '_cnd[zone.name][like]=*a b*' }, '?zone.name[like]=*a%20b*'],
  [{ where: '_cnd[id][in]=1&_cnd[id][in]=3' }, '?id[in]=1&id[in]=3'],
  [{ where: '_cnd[$any][0][a][lt]=1&_cnd[$any][1][b][eq]=x%26y' }, '?$any[0][a][lt]=1&$any[1][b][eq]=x%26y'],
  [{ where: '_cnd[lines][$some][0][text][eq]=a' }, '?lines[$some][0][text][eq]=a'],
  [{ where: '_cnd[at][gte]=2026-11-25T00:00:00.000Z' }, '?at[gte]=2026-11-25T00:00:00.000Z'],
  [{ where: '_cnd[page][eq]=7&_cnd[sort][eq]=x', page: '3' }, '?page=7&sort=x&$page=3'],
  [{ where: '_cnd[a][eq]=1', variant: 'brief' }, '?a=1&$view=brief'],
] as const)('%j is the address %s', (written, address) => {
  expect(addressSearch(library(written))).toBe(address);
  const again = new URLSearchParams(librarySearch(address));
  again.set('variant', new URLSearchParams(address).get('$view') ?? '');
  if (again.get('variant') === '') again.delete('variant');
  expect(addressSearch(again.toString())).toBe(address);
});

test.each([
  ['?$page=0&$size=x', ''],
  ['?$unknown=1', ''],
  ['?a[b=1', ''],
  ['?state=open', '?filter=%7B%22where%22%3A%22_cnd%255Bstate%255D%255Beq%255D%3Dopen%22%7D'],
])('%s is read as %s', (address, expected) => {
  expect(librarySearch(address)).toBe(expected);
});
