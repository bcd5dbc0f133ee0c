import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import type { Descriptor } from '../engine/descriptor/descriptor.ts';
import type { RecordType } from '../engine/model/model.ts';
import { resolveModel } from '../engine/model/resolve.ts';
import { Problem } from '../engine/problem.ts';
import { encodeCursor } from '../engine/query/cursor.ts';
import type { Filter, ListQuery, OrderBy, View } from '../engine/query/list-query.ts';
import { operandCount, operators, pattern } from '../engine/query/operators.ts';
import { pageSearches } from '../engine/query/page-search.ts';
import { parseParameters } from '../engine/query/parameters.ts';
import { createQueryResolver } from '../engine/query/resolve.ts';

const descriptors: readonly Descriptor[] = [
  {
    type: 'Book',
    identifier: { name: 'book_id' },
    order: ['position desc'],
    list: { maxLimit: 100 },
    fields: {
      title: { type: 'string', maxLength: 20 },
      pages: { type: 'integer' },
      price: { type: 'decimal', precision: 10, scale: 2 },
      weight: { type: 'number' },
      in_print: { type: 'boolean' },
      published: { type: 'date' },
      sold_at: { type: 'timestamp' },
      position: { type: 'integer', default: 0 },
      notes: { type: 'any' },
      tags: { type: 'array' },
    },
    relations: {
      author: { kind: 'belongsTo', type: 'Author', inverse: 'books' },
      editor: { kind: 'belongsTo', type: 'Author', fields: ['name'] },
      cover: { kind: 'hasOne', type: 'Cover', inverse: 'book', owned: true },
      shelves: { kind: 'manyToMany', type: 'Shelf', inverse: 'books' },
    },
  },
  {
    type: 'Author',
    identifier: { name: 'author_id' },
    fields: { name: { type: 'string' }, born: { type: 'integer' }, rank: { type: 'any' } },
    relations: {
      books: { kind: 'hasMany', type: 'Book', inverse: 'author' },
      mentor: { kind: 'belongsTo', type: 'Author' },
      rival: { kind: 'belongsTo', type: 'Author' },
    },
  },
  {
    type: 'Cover',
    open: true,
    fields: { image: { type: 'string' } },
    relations: { book: { kind: 'belongsTo', type: 'Book', inverse: 'cover' } },
  },
  {
    type: 'Shelf',
    identifier: { inRecord: false },
    fields: { label: { type: 'string' }, room: { type: 'string' }, height: { type: 'integer' } },
    relations: { books: { kind: 'manyToMany', type: 'Book', inverse: 'shelves' } },
    variants: { default: 'full', omit: { full: [], short: ['height'], label: ['room', 'height'] } },
  },
];

const model = resolveModel(descriptors);
const queriesOf = createQueryResolver(model);

function typeOf(name: string): RecordType {
  const type = model.types.get(name);
  if (!type) throw new Error(`no type ${name}`);
  return type;
}

const book = typeOf('Book');
const list = (search: string, type = book): ListQuery => queriesOf(type).list(search);
const view = (search: string, type = book): View => queriesOf(type).view(search);

/** `title desc, book_id desc` */
const orderText = (order: readonly OrderBy[]): string =>
  order.map(({ path, descending }) => `${path.name}${descending ? ' desc' : ''}`).join(', ');

/** `pages gt 5` */
const filterText = ({ path, operator, value }: Filter): string => `${path.name} ${operator} ${JSON.stringify(value)}`;

/** `book_id title author(author_id name)`, `…` for the open keys. */
function viewText({ type, fields, openKeys, relations }: View): string {
  const inner = relations.map(({ relation, view: related }) => `${relation.name}(${viewText(related)})`);
  return [type.identifier.name, ...fields.map(({ name }) => name), ...(openKeys ? ['…'] : []), ...inner].join(' ');
}

/** `parameter: code` of each fault. */
function faultsOf(action: () => unknown): readonly string[] {
  const { code, status, errors } = problemOf(action);
  expect([code, status]).toEqual(['invalid-query', 400]);
  return errors.map((fault) => `${'parameter' in fault ? fault.parameter : '?'}: ${fault.code}`);
}

function problemOf(action: () => unknown): Problem {
  try {
    action();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('parameters', () => {
  test.each<[string, unknown]>([
    ['', []],
    ['&&', []],
    ['a', [['a', undefined, '']]],
    ['a=', [['a', undefined, '']]],
    ['=b', [['', undefined, 'b']]],
    ['a=b=c', [['a', undefined, 'b=c']]],
    [
      'a=1&a=2',
      [
        ['a', undefined, '1'],
        ['a', undefined, '2'],
      ],
    ],
    ['a+b=c+d', [['a b', undefined, 'c d']]],
    ['a=%2B%26%3D', [['a', undefined, '+&=']]],
    ['a=%C3%A9', [['a', undefined, 'é']]],
    ['a=\u00c3\u00a9', [['a', undefined, 'é']]],
    ['a=%F0%9F%98%80', [['a', undefined, '\u{1F600}']]],
    ['_cnd[limit]=1', [['_cnd[limit]', ['limit'], '1']]],
    ['_cnd%5Blimit%5D[]=1', [['_cnd[limit][]', ['limit', ''], '1']]],
    ['_cnd[a][0][1]', [['_cnd[a][0][1]', ['a', '0', '1'], '']]],
    ['_cnd[]=1', [['_cnd[]', [''], '1']]],
    ['_cnd=1', [['_cnd', undefined, '1']]],
    ['_cnd[a=1', [['_cnd[a', undefined, '1']]],
    ['_cnd[a]b=1', [['_cnd[a]b', undefined, '1']]],
    ['_cnd[a[b]]=1', [['_cnd[a[b]]', undefined, '1']]],
    ['x_cnd[a]=1', [['x_cnd[a]', undefined, '1']]],
    [
      '__proto__=1&_cnd[__proto__]=1',
      [
        ['__proto__', undefined, '1'],
        ['_cnd[__proto__]', ['__proto__'], '1'],
      ],
    ],
  ])('?%s', (search, expected) => {
    const { all, faults } = parseParameters(search);
    expect(all.map(({ key, steps, value }) => [key, steps, value])).toEqual(expected);
    expect(faults).toEqual([]);
  });

  test.each([
    ['a=%', 'a'],
    ['a=%4', 'a'],
    ['a=%zz', 'a'],
    ['%=1', '%'],
    ['a%20b=%C3', 'a b'],
    ['a=%C3%28', 'a'],
    ['a=%C0%80', 'a'],
    ['a=%ED%A0%80', 'a'],
    ['a=%00', 'a'],
    ['a=\u00e9', 'a'],
  ])('?%s is malformed', (search, parameter) => {
    expect(parseParameters(search)).toEqual({
      all: [],
      faults: [{ parameter, code: 'malformed', message: expect.stringContaining('cannot be decoded') }],
    });
    expect(faultsOf(() => list(search))).toEqual([`${parameter}: malformed`]);
    expect(faultsOf(() => view(search))).toEqual([`${parameter}: malformed`]);
  });
});

describe('limit', () => {
  test.each<[string, number, number | undefined]>([
    ['', 0, undefined],
    ['_cnd[limit]=20&_cnd[limit]=10', 20, 10],
    ['_cnd%5Blimit%5D=20&_cnd%5blimit%5d=10', 20, 10],
    ['_cnd[limit][]=20&_cnd[limit][]=10', 20, 10],
    ['_cnd[limit][0]=20&_cnd[limit][1]=10', 20, 10],
    ['_cnd[limit][1]=10&_cnd[limit][0]=20', 20, 10],
    ['_cnd%5Blimit%5D%5B1%5D=10&_cnd%5Blimit%5D%5B0%5D=20', 20, 10],
    ['_cnd[limit][1]=10', 0, 10],
    ['_cnd[limit][0]=20', 20, undefined],
    ['_cnd[limit]=0&_cnd[limit]=0', 0, 0],
    ['_cnd[limit]=9007199254740991&_cnd[limit]=100', 9007199254740991, 100],
  ])('?%s', (search, offset, limit) => {
    expect(list(search)).toMatchObject({ offset, limit });
  });

  test.each([
    ['_cnd[limit]=20', '_cnd[limit]: lone-value'],
    ['_cnd[limit]=0,20', '_cnd[limit]: lone-value'],
    ['_cnd[limit][]=20', '_cnd[limit][]: lone-value'],
    ['_cnd[limit]=1&_cnd[limit]=2&_cnd[limit]=3', '_cnd[limit]: too-many-items'],
    ['_cnd[limit][2]=1', '_cnd[limit][2]: too-many-items'],
    ['_cnd[limit][0]=1&_cnd[limit][0]=2', '_cnd[limit][0]: repeated'],
    ['_cnd[limit][1]=1&_cnd[limit][1]=2', '_cnd[limit][1]: repeated'],
    ['_cnd[limit]=1&_cnd[limit][]=2', '_cnd[limit]: mixed-forms'],
    ['_cnd[limit][]=1&_cnd[limit][1]=2', '_cnd[limit][]: mixed-forms'],
    ['_cnd[limit]=1&_cnd[limit][1]=2', '_cnd[limit]: mixed-forms'],
    ['_cnd[limit][x]=1', '_cnd[limit][x]: malformed-array'],
    ['_cnd[limit][00]=1', '_cnd[limit][00]: malformed-array'],
    ['_cnd[limit][-1]=1', '_cnd[limit][-1]: malformed-array'],
    ['_cnd[limit][0][0]=1', '_cnd[limit][0][0]: malformed-array'],
    ['_cnd[limit][1]=', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=x', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=-1', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=+1', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=1.5', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=1e1', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=0x10', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][0]=9007199254740992', '_cnd[limit][0]: invalid-value'],
    ['_cnd[limit][1]=101', '_cnd[limit][1]: limit-too-large'],
  ])('?%s is refused', (search, fault) => {
    expect(faultsOf(() => list(search))).toEqual([fault]);
  });
});

describe('order', () => {
  test.each([
    ['', 'position desc, book_id desc'],
    ['_cnd[orderBy]=title', 'title, book_id'],
    ['_cnd[orderBy][]=title', 'title, book_id'],
    ['_cnd[orderBy][0]=title', 'title, book_id'],
    ['_cnd[orderBy][0][0]=title', 'title, book_id'],
    ['_cnd[orderBy][0][]=title', 'title, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc', 'title desc, book_id desc'],
    ['_cnd[orderBy][]=title&_cnd[orderBy][]=DESC', 'title desc, book_id desc'],
    ['_cnd[orderBy][1]=Desc&_cnd[orderBy][0]=title', 'title desc, book_id desc'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][0][1]=desc', 'title desc, book_id desc'],
    ['_cnd[orderBy][0][]=title&_cnd[orderBy][0][]=desc', 'title desc, book_id desc'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=ASC', 'title, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=pages', 'title, pages, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc&_cnd[orderBy]=pages', 'title desc, pages, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=pages&_cnd[orderBy]=desc', 'title, pages desc, book_id desc'],
    ['_cnd[orderBy][1][0]=pages&_cnd[orderBy][0][1]=desc&_cnd[orderBy][0][0]=title', 'title desc, pages, book_id'],
    ['_cnd[orderBy][10]=pages&_cnd[orderBy][9]=title', 'title, pages, book_id'],
    ['_cnd[orderBy]=book_id', 'book_id'],
    ['_cnd[orderBy]=book_id&_cnd[orderBy]=desc', 'book_id desc'],
    ['_cnd[orderBy]=book_id&_cnd[orderBy]=title', 'book_id'],
    ['_cnd[orderBy]=author.name', 'author.name, book_id'],
    ['_cnd[orderBy]=author', 'author.author_id, book_id'],
    ['_cnd[orderBy]=author.author_id', 'author.author_id, book_id'],
    ['_cnd[orderBy]=author.mentor.name&_cnd[orderBy]=desc', 'author.mentor.name desc, book_id desc'],
    ['_cnd[orderBy]=cover.image', 'cover.image, book_id'],
    ['_cnd[orderBy]=editor.born', 'editor.born, book_id'],
    ['_cnd[orderBy]=in_print', 'in_print, book_id'],
  ])('?%s', (search, expected) => {
    expect(orderText(list(search).order)).toBe(expected);
  });

  test.each([
    ['_cnd[orderBy]=', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=desc', '_cnd[orderBy]: misplaced-direction'],
    ['_cnd[orderBy]=asc&_cnd[orderBy]=title', '_cnd[orderBy]: misplaced-direction'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc&_cnd[orderBy]=asc', '_cnd[orderBy]: misplaced-direction'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=title', '_cnd[orderBy]: repeated'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc&_cnd[orderBy]=title', '_cnd[orderBy]: repeated'],
    ['_cnd[orderBy]=author&_cnd[orderBy]=author.author_id', '_cnd[orderBy]: repeated'],
    ['_cnd[orderBy][0]=title&_cnd[orderBy][0]=pages', '_cnd[orderBy][0]: repeated'],
    ['_cnd[orderBy]=title&_cnd[orderBy][]=pages', '_cnd[orderBy]: mixed-forms'],
    ['_cnd[orderBy][0]=title&_cnd[orderBy][0][1]=desc', '_cnd[orderBy][0]: mixed-forms'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][0][]=desc', '_cnd[orderBy][0][0]: mixed-forms'],
    ['_cnd[orderBy][0][0]=desc', '_cnd[orderBy][0][0]: malformed-array'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][1][0]=desc', '_cnd[orderBy][0][0]: malformed-array'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][0][1]=pages', '_cnd[orderBy][0][0]: malformed-array'],
    ['_cnd[orderBy][][0]=title', '_cnd[orderBy][][0]: malformed-array'],
    ['_cnd[orderBy][title]=desc', '_cnd[orderBy][title]: malformed-array'],
    ['_cnd[orderBy][0][0][0]=title', '_cnd[orderBy][0][0][0]: malformed-array'],
    ['_cnd[orderBy]=titel', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=title+desc', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=limit', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=notes', '_cnd[orderBy]: not-orderable'],
    ['_cnd[orderBy]=tags', '_cnd[orderBy]: not-orderable'],
    ['_cnd[orderBy]=author.rank', '_cnd[orderBy]: not-orderable'],
    ['_cnd[orderBy]=shelves', '_cnd[orderBy]: to-many'],
    ['_cnd[orderBy]=shelves.label', '_cnd[orderBy]: to-many'],
    ['_cnd[orderBy]=author.books.title', '_cnd[orderBy]: to-many'],
    ['_cnd[orderBy]=title.name', '_cnd[orderBy]: unknown-relation'],
    ['_cnd[orderBy]=autor.name', '_cnd[orderBy]: unknown-relation'],
    ['_cnd[orderBy]=author.mentor.mentor.mentor.mentor', '_cnd[orderBy]: too-deep'],
  ])('?%s is refused', (search, fault) => {
    expect(faultsOf(() => list(search))).toEqual([fault]);
  });
});

describe('filters', () => {
  test.each<[string, readonly string[]]>([
    ['_cnd[title]=x', ['title eq "x"']],
    ['_cnd[title]=', ['title eq ""']],
    ['_cnd[title]', ['title eq ""']],
    ['_cnd[title]=true', ['title eq "true"']],
    ['_cnd[title][ne]=x', ['title ne "x"']],
    ['_cnd[title][ne]=', ['title ne ""']],
    ['_cnd%5Btitle%5D%5Beq%5D=a%26b', ['title eq "a&b"']],
    ['_cnd[pages]=5', ['pages eq 5']],
    ['_cnd[pages]=-5', ['pages eq -5']],
    ['_cnd[pages][lt]=5', ['pages lt 5']],
    ['_cnd[pages][lte]=5', ['pages lte 5']],
    ['_cnd[pages][gt]=5', ['pages gt 5']],
    ['_cnd[pages][gte]=5&_cnd[pages][lt]=9', ['pages gte 5', 'pages lt 9']],
    ['_cnd[pages]=5&_cnd[pages][eq]=6', ['pages eq 5', 'pages eq 6']],
    ['_cnd[price]=1.50', ['price eq "1.50"']],
    ['_cnd[weight][gt]=1e-3', ['weight gt 0.001']],
    ['_cnd[in_print]=true', ['in_print eq true']],
    ['_cnd[in_print][ne]=false', ['in_print ne false']],
    ['_cnd[published][gte]=2024-02-29', ['published gte "2024-02-29"']],
    ['_cnd[sold_at][lt]=2024-02-29T00:00:00%2B01:00', ['sold_at lt "2024-02-29T00:00:00+01:00"']],
    ['_cnd[book_id]=7', ['book_id eq 7']],
    ['_cnd[book_id][in]=7&_cnd[book_id][in]=8', ['book_id in [7,8]']],
    ['_cnd[title][in]=', ['title in [""]']],
    ['_cnd[title][in]=a&_cnd[title][in]=a,b', ['title in ["a","a,b"]']],
    ['_cnd[title][in][]=a&_cnd[title][in][]=b', ['title in ["a","b"]']],
    ['_cnd[title][in][1]=b&_cnd[title][in][0]=a', ['title in ["a","b"]']],
    ['_cnd[title][in][7]=b&_cnd[title][in][3]=a', ['title in ["a","b"]']],
    ['_cnd[title][like]=*ab*c', ['title like "*ab*c"']],
    ['_cnd[title][like]=', ['title like ""']],
    ['_cnd[title][null]=true', ['title null true']],
    ['_cnd[title][null]=false', ['title null false']],
    ['_cnd[author]=9', ['author.author_id eq 9']],
    ['_cnd[author.author_id]=9', ['author.author_id eq 9']],
    ['_cnd[author][null]=true', ['author.author_id null true']],
    ['_cnd[cover][in]=1&_cnd[cover][in]=2', ['cover.id in [1,2]']],
    ['_cnd[author.name][like]=a*', ['author.name like "a*"']],
    ['_cnd[editor.born][gt]=1900', ['editor.born gt 1900']],
    ['_cnd[author.mentor.rival.mentor]=1', ['author.mentor.rival.mentor.author_id eq 1']],
    ['_cnd[author.mentor.rival.mentor.name]=x', ['author.mentor.rival.mentor.name eq "x"']],
    ['_cnd[title]=x&_cnd[limit][1]=5&_cnd[orderBy]=title&_cnd[pages]=1', ['title eq "x"', 'pages eq 1']],
  ])('?%s', (search, expected) => {
    expect(list(search).filters.map(filterText)).toEqual(expected);
  });

  test.each([
    ['_cnd[titel]=x', '_cnd[titel]: unknown-field'],
    ['_cnd[]=x', '_cnd[]: unknown-field'],
    ['_cnd[__proto__]=x', '_cnd[__proto__]: unknown-field'],
    ['_cnd[constructor][toString]=x', '_cnd[constructor][toString]: unknown-field'],
    ['_cnd[title][constructor]=x', '_cnd[title][constructor]: unknown-operator'],
    ['_cnd[title][like ]=x', '_cnd[title][like ]: unknown-operator'],
    ['_cnd[title][]=x', '_cnd[title][]: unknown-operator'],
    ['_cnd[title][0]=x', '_cnd[title][0]: unknown-operator'],
    ['_cnd[title][EQ]=x', '_cnd[title][EQ]: unknown-operator'],
    ['_cnd[pages][like]=1*', '_cnd[pages][like]: unknown-operator'],
    ['_cnd[in_print][gt]=true', '_cnd[in_print][gt]: unknown-operator'],
    ['_cnd[title]=a&_cnd[title]=b', '_cnd[title]: repeated'],
    ['_cnd[title][eq]=a&_cnd%5Btitle%5D[eq]=a', '_cnd[title][eq]: repeated'],
    ['_cnd[title][null]=true&_cnd[title][null]=false', '_cnd[title][null]: repeated'],
    ['_cnd[title][eq][]=a', '_cnd[title][eq][]: malformed-filter'],
    ['_cnd[title][null][0]=true', '_cnd[title][null][0]: malformed-filter'],
    ['_cnd[title][in]=a&_cnd[title][in][]=b', '_cnd[title][in]: mixed-forms'],
    ['_cnd[title][in][0]=a&_cnd[title][in][0]=b', '_cnd[title][in][0]: repeated'],
    ['_cnd[title][in][x]=a', '_cnd[title][in][x]: malformed-array'],
    ['_cnd[title][in][0][0]=a', '_cnd[title][in][0][0]: malformed-array'],
    ['_cnd[title][null]=', '_cnd[title][null]: invalid-value'],
    ['_cnd[title][null]=1', '_cnd[title][null]: invalid-value'],
    ['_cnd[pages]=', '_cnd[pages]: invalid-value'],
    ['_cnd[pages]=x', '_cnd[pages]: invalid-value'],
    ['_cnd[pages]=1.0', '_cnd[pages]: invalid-value'],
    ['_cnd[pages]=9007199254740992', '_cnd[pages]: invalid-value'],
    ['_cnd[pages][in]=1,2', '_cnd[pages][in]: invalid-value'],
    ['_cnd[pages][in]=1&_cnd[pages][in]=', '_cnd[pages][in]: invalid-value'],
    ['_cnd[price]=1e3', '_cnd[price]: invalid-value'],
    ['_cnd[weight]=Infinity', '_cnd[weight]: invalid-value'],
    ['_cnd[in_print]=1', '_cnd[in_print]: invalid-value'],
    ['_cnd[published]=2023-02-29', '_cnd[published]: invalid-value'],
    ['_cnd[author]=', '_cnd[author]: invalid-value'],
    ['_cnd[author]=x', '_cnd[author]: invalid-value'],
    ['_cnd[notes]=x', '_cnd[notes]: not-filterable'],
    ['_cnd[notes][null]=true', '_cnd[notes][null]: not-filterable'],
    ['_cnd[tags][in]=x', '_cnd[tags][in]: not-filterable'],
    ['_cnd[cover.colour]=x', '_cnd[cover.colour]: unknown-field'],
    ['_cnd[shelves]=1', '_cnd[shelves]: to-many'],
    ['_cnd[shelves.label]=x', '_cnd[shelves.label]: to-many'],
    ['_cnd[title.x]=1', '_cnd[title.x]: unknown-relation'],
    ['_cnd[author.]=1', '_cnd[author.]: unknown-field'],
    ['_cnd[.title]=1', '_cnd[.title]: unknown-relation'],
    ['_cnd[author.mentor.rival.mentor.rival]=1', '_cnd[author.mentor.rival.mentor.rival]: too-deep'],
    ['_cnd[title][like]=*a*b*c*d*e*f*g*h*', '_cnd[title][like]: too-many'],
  ])('?%s is refused', (search, fault) => {
    expect(faultsOf(() => list(search))).toEqual([fault]);
  });

  const repeated = (count: number, piece: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => piece(index)).join('&');
  const filters = ['title', 'pages', 'price', 'weight', 'published', 'sold_at', 'position', 'book_id'].flatMap((name) =>
    ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'null'].map((operator) => `_cnd[${name}][${operator}]=`),
  );
  /** Different paths through four relations each. */
  const deepPaths = ['author', 'editor'].flatMap((a) =>
    ['mentor', 'rival'].flatMap((b) =>
      ['mentor', 'rival'].flatMap((c) => ['mentor', 'rival'].map((d) => `_cnd[${a}.${b}.${c}.${d}.name]=x`)),
    ),
  );

  const orderable = [
    'title,pages,price,weight,in_print,published,sold_at,position,author,author.name,author.born',
    'editor,editor.name,editor.born,cover,cover.image,author.mentor,author.rival,editor.mentor,editor.rival',
    'author.mentor.name',
  ].flatMap((names) => names.split(','));
  const orderBy = (names: readonly string[]): string => names.map((name) => `_cnd[orderBy]=${name}`).join('&');

  test('as many as there may be', () => {
    expect(list(`_cnd[title][like]=${'x'.repeat(1000)}`).filters).toHaveLength(1);
    expect(faultsOf(() => list(`_cnd[title][like]=${'x'.repeat(1001)}`))).toEqual(['_cnd[title][like]: too-many']);
    expect(list(`_cnd[title][like]=${'*x'.repeat(8)}`).filters).toHaveLength(1);
    expect(list(repeated(100, (index) => `_cnd[pages][in]=${index}`)).filters).toHaveLength(1);
    expect(faultsOf(() => list(repeated(101, (index) => `_cnd[pages][in]=${index}`)))).toEqual([
      '_cnd[pages][in]: too-many',
    ]);
    expect(faultsOf(() => list(filters.slice(0, 50).join('&')))).not.toContain('_cnd[title][eq]: too-many');
    expect(faultsOf(() => list(filters.slice(0, 51).join('&')))).toContain('_cnd[title][eq]: too-many');
    expect(list(deepPaths.join('&')).filters).toHaveLength(16);
    expect(faultsOf(() => list([...deepPaths, '_cnd[cover.image]=x'].join('&')))).toEqual(['_cnd: too-many']);
    expect(list(orderBy(orderable.slice(0, 20))).order).toHaveLength(21);
    expect(faultsOf(() => list(orderBy(orderable)))).toEqual(['_cnd[orderBy]: too-many']);
  });
});

describe('views', () => {
  const own = 'book_id title pages price weight in_print published sold_at position notes tags';
  const author = 'author_id name born rank';
  test.each([
    ['', `${own} author(${author}) editor(author_id name) cover(id image …) shelves(id label room height)`],
    ['include=', own],
    ['include=author', `${own} author(${author})`],
    ['include=author,author', `${own} author(${author})`],
    ['include=shelves,author', `${own} author(${author}) shelves(id label room height)`],
    ['include=author.mentor', `${own} author(${author} mentor(${author}))`],
    ['include=author.mentor,author.books', `${own} author(${author} books(${own}) mentor(${author}))`],
    ['include=author%2Cauthor.mentor', `${own} author(${author} mentor(${author}))`],
    [
      'include=author.mentor.rival.mentor',
      `${own} author(${author} mentor(${author} rival(${author} mentor(${author}))))`,
    ],
    ['include=editor.mentor', `${own} editor(author_id name mentor(${author}))`],
    ['fields=', 'book_id'],
    ['fields=book_id', 'book_id'],
    ['fields=title', 'book_id title'],
    ['fields=pages,title,pages', 'book_id title pages'],
    ['fields=author', `book_id author(${author})`],
    ['fields=title,author.name', 'book_id title author(author_id name)'],
    ['fields=author.author_id', 'book_id author(author_id)'],
    ['fields=author,author.name', `book_id author(${author})`],
    ['fields=author.mentor', `book_id author(author_id mentor(${author}))`],
    ['fields=author.mentor.name,author.born', 'book_id author(author_id born mentor(author_id name))'],
    ['fields=cover', 'book_id cover(id image …)'],
    ['fields=cover.image', 'book_id cover(id image)'],
    ['fields=editor', 'book_id editor(author_id name)'],
    ['fields=editor.name', 'book_id editor(author_id name)'],
    ['fields=title&include=', 'book_id title'],
    ['fields=title&include=author', `book_id title author(${author})`],
    ['fields=author.name&include=author,cover', 'book_id author(author_id name) cover(id image …)'],
    ['fields=author.name&include=author.mentor', `book_id author(author_id name mentor(${author}))`],
    ['fields=author&include=author.mentor', `book_id author(${author} mentor(${author}))`],
    ['include=author.mentor&fields=author.mentor.name', 'book_id author(author_id mentor(author_id name))'],
  ])('?%s', (search, expected) => {
    expect(viewText(view(search))).toBe(expected);
    expect(viewText(list(search).view)).toBe(expected);
  });

  test.each([
    ['', 'id image … book(book_id title pages price weight in_print published sold_at position notes tags)'],
    ['include=', 'id image …'],
    ['fields=', 'id'],
    ['fields=image', 'id image'],
  ])('?%s of an open type', (search, expected) => {
    expect(viewText(view(search, typeOf('Cover')))).toBe(expected);
  });

  test.each([
    ['include=autor', 'include: unknown-relation'],
    ['include=author,', 'include: unknown-relation'],
    ['include=,', 'include: unknown-relation include: unknown-relation'],
    ['include=author.', 'include: unknown-relation'],
    ['include=author.mentr', 'include: unknown-relation'],
    ['include=title', 'include: unknown-relation'],
    ['include=author.mentor.mentor.mentor.mentor', 'include: too-deep'],
    ['include=a&include=author', 'include: repeated include: unknown-relation'],
    ['fields=titel', 'fields: unknown-field'],
    ['fields=title,', 'fields: unknown-field'],
    ['fields=colour', 'fields: unknown-field'],
    ['fields=title.x', 'fields: unknown-relation'],
    ['fields=autor.name', 'fields: unknown-relation'],
    ['fields=author.nam', 'fields: unknown-field'],
    ['fields=editor.born', 'fields: not-shown'],
    ['fields=shelves.id', 'fields: unknown-field'],
    ['fields=author.mentor.mentor.mentor.mentor', 'fields: too-deep'],
    ['fields=author.name&include=', 'fields: not-included'],
    ['fields=author.mentor.name&include=author', 'fields: not-included'],
    ['fields=title&fields=pages', 'fields: repeated'],
    ['variant=full', 'variant: unknown-variant'],
    ['variant=', 'variant: unknown-variant'],
  ])('?%s is refused', (search, faults) => {
    expect(faultsOf(() => view(search)).join(' ')).toBe(faults);
    expect(faultsOf(() => list(search)).join(' ')).toBe(faults);
  });

  test.each(['_cnd[limit][1]=1', '_cnd[title]=x', 'after=x', 'before=x', 'x=1', '=1'])(
    '?%s is for lists, or nothing',
    (search) => {
      const [key] = search.split('=');
      expect(faultsOf(() => view(search))).toEqual([`${key}: unknown-parameter`]);
    },
  );

  test('a fault-free view of an open type with its own fields', () => {
    expect(view('fields=image', typeOf('Cover')).openKeys).toBe(false);
    expect(view('', typeOf('Cover')).openKeys).toBe(true);
  });

  test.each<[string, string, boolean]>([
    ['', 'include=author,editor,cover,shelves', true],
    ['include=author,cover', 'include=cover,author,cover', true],
    ['fields=title,pages', 'fields=pages,title,book_id', true],
    ['include=author', 'include=editor', false],
    ['include=author', 'include=author.mentor', false],
    ['fields=title', 'fields=pages', false],
    ['fields=author.name', 'fields=author.born', false],
    ['fields=author.name', 'fields=editor.name', false],
    ['fields=cover', 'fields=cover.image', false],
    ['include=', 'fields=', false],
    ['fields=author', 'fields=author.mentor', false],
  ])('?%s and ?%s: the same key %s', (one, other, same) => {
    expect(view(one).key === view(other).key).toBe(same);
  });

  test('views of all types and relations have keys of their own', () => {
    const related = (one: View): View[] => [one, ...one.relations.flatMap(({ view: inner }) => related(inner))];
    const all = ['', 'fields=', 'include=author.mentor,editor.mentor'].flatMap((search) => related(view(search)));
    const texts = new Map(all.map((one) => [one.key, `${one.type.name} ${viewText(one)}`]));
    expect(new Set(texts.values()).size).toBe(texts.size);
    for (const one of all) expect(texts.get(one.key)).toBe(`${one.type.name} ${viewText(one)}`);
  });

  test('the usual views are made once', () => {
    expect(view('')).toBe(view(''));
    expect(list('')).toBe(list(''));
    expect(list('').view).toBe(view(''));
    expect(list('_cnd[limit][1]=5').view).toBe(view(''));
    expect(list('_cnd[limit][1]=5').order).toBe(list('').order);
    expect(list('include=author').view).toBe(view('include=author'));
    expect(list('_cnd[limit][1]=6')).toBe(list('_cnd[limit][1]=6'));
    expect(list('_cnd[limit][1]=6')).not.toBe(list('_cnd[limit][1]=6&'));
    expect(view('variant=short', typeOf('Shelf'))).toBe(view('variant=short', typeOf('Shelf')));
  });

  test('views that are no longer asked for make room', () => {
    const first = view('fields=title');
    for (let index = 0; index < 200; index += 1)
      view(`fields=title${',pages'.repeat(index % 60)},book_id${',price'.repeat(index % 7)}`);
    expect(view('fields=title')).not.toBe(first);
    expect(view('fields=title').key).toBe(first.key);
  });
});

describe('variants', () => {
  const shelf = typeOf('Shelf');
  test.each([
    ['', 'full', 'id label room height'],
    ['variant=full', 'full', 'id label room height'],
    ['variant=short', 'short', 'id label room'],
    ['variant=label', 'label', 'id label'],
    ['variant=short&fields=room', 'short', 'id room'],
  ])('?%s', (search, variant, expected) => {
    expect(view(`${search}&include=`, shelf).variant).toBe(shelf.variants.get(variant));
    expect(viewText(view(`${search}&include=`, shelf))).toBe(expected);
  });

  test('each variant has its own views', () => {
    const keys = ['full', 'short', 'label'].map((variant) => view(`variant=${variant}&fields=label`, shelf).key);
    expect(new Set(keys).size).toBe(3);
  });

  test.each([
    ['variant=Short', 'variant: unknown-variant'],
    ['variant=', 'variant: unknown-variant'],
    ['variant=short&fields=height', 'fields: not-shown'],
    ['variant=nothing&fields=height', 'variant: unknown-variant'],
    ['fields=id', 'fields: unknown-field'],
  ])('?%s is refused', (search, faults) => {
    expect(faultsOf(() => view(search, shelf)).join(' ')).toBe(faults);
  });

  test.each([
    ['_cnd[height]=5', ''],
    ['_cnd[id]=5', ''],
    ['variant=short&_cnd[room]=x&_cnd[orderBy]=room', ''],
    ['variant=short&_cnd[height]=5', '_cnd[height]: not-in-variant'],
    ['variant=short&_cnd[orderBy]=height', '_cnd[orderBy]: not-in-variant'],
    ['variant=nothing&_cnd[height]=5&_cnd[orderBy]=height', 'variant: unknown-variant'],
  ])('?%s: %s', (search, faults) => {
    const action = (): unknown => list(search, shelf);
    if (faults === '') expect(action).not.toThrow();
    else expect(faultsOf(action).join(' ')).toBe(faults);
  });
});

describe('messages', () => {
  test.each([
    ['_cnd[positon]=1', 'did you mean "position"?'],
    ['_cnd[limt]=1', 'did you mean "limit"?'],
    ['_cnd[orderby]=title', 'did you mean "orderBy"?'],
    ['_cnd[orderBy]=positon', 'did you mean "position"?'],
    ['_cnd[autor.name]=1', 'did you mean "author"?'],
    ['_cnd[author.nme]=1', 'did you mean "name"?'],
    ['_cnd[title][lik]=1', 'did you mean "like"?'],
    ['includ=author', 'did you mean "include"?'],
    ['include[]=author', 'did you mean "include"?'],
    ['limit=5', 'did you mean "_cnd[limit]"?'],
    ['orderBy=title', 'did you mean "_cnd[orderBy]"?'],
    ['title=5', 'did you mean "_cnd[title]"?'],
    ['_cnd[limit=5', 'did you mean "_cnd[limit]"?'],
    ['include=athor', 'did you mean "author"?'],
    ['include=title', '"title" of Book is a field, not a relation; fields are chosen with fields='],
    ['fields=author.brn', 'did you mean "born"?'],
    ['fields=editor.born', 'The relation "editor" does not show the field "born" of Author'],
    ['_cnd[pages]=', '"" cannot be a value of "pages"'],
    ['_cnd[pages]=', 'records without a value are found by _cnd[pages][null]=true'],
    ['_cnd[limit][1]=1000', 'at most 100'],
  ])('?%s: %s', (search, message) => {
    const { errors } = problemOf(() => list(search));
    expect(errors.map((fault) => fault.message).join('\n')).toContain(message);
  });

  test('a long text is cut', () => {
    const { message } = problemOf(() => list('z'.repeat(500)));
    expect(message).toBe(`"${'z'.repeat(60)}…" is no parameter here`);
  });

  test('a name that nothing resembles gets no suggestion', () => {
    expect(problemOf(() => list('utm_source=x')).errors[0]?.message).toBe('"utm_source" is no parameter here');
  });

  test('all faults of a request are reported together', () => {
    const search =
      'a=%&nope=1&include=x&fields=y&variant=z&_cnd[limit]=x&_cnd[limit]=-1&_cnd[orderBy]=q&_cnd[r]=1&_cnd[pages][lt]=x';
    expect([...faultsOf(() => list(search))].toSorted()).toEqual(
      [
        'a: malformed',
        'nope: unknown-parameter',
        'include: unknown-relation',
        'fields: unknown-field',
        'variant: unknown-variant',
        '_cnd[limit]: invalid-value',
        '_cnd[limit]: invalid-value',
        '_cnd[orderBy]: unknown-field',
        '_cnd[r]: unknown-field',
        '_cnd[pages][lt]: invalid-value',
      ].toSorted(),
    );
  });
});

describe('cursors', () => {
  const page = '_cnd[limit]=0&_cnd[limit]=20';
  const cursorOf = (search: string, values: Parameters<typeof encodeCursor>[1]): string =>
    encodeCursor(list(search), values) ?? '';
  const forged = (search: string, change: (content: unknown[]) => unknown): string => {
    const content: unknown[] = JSON.parse(Buffer.from(cursorOf(search, [5, 7]), 'base64url').toString());
    return Buffer.from(JSON.stringify(change(content))).toString('base64url');
  };

  test.each<[string, Parameters<typeof encodeCursor>[1]]>([
    [page, [5, 7]],
    [page, [null, 7]],
    ['_cnd[limit][1]=1', [0, 1]],
    [`${page}&_cnd[orderBy]=title`, ['é\u{1F600}"', 7]],
    [`${page}&_cnd[orderBy]=price&_cnd[orderBy]=in_print&_cnd[orderBy]=weight`, ['-1.50', false, 1e21, 7]],
    [`${page}&_cnd[orderBy]=published&_cnd[orderBy]=sold_at`, ['2024-02-29', '2024-02-29T00:00:00.5+01:00', 7]],
    [`${page}&_cnd[orderBy]=author.name&_cnd[orderBy]=author`, [null, null, 7]],
    [`${page}&_cnd[title][like]=a*&_cnd[pages][in]=1&_cnd[pages][in]=2`, [5, 7]],
  ])('?%s after %j', (search, values) => {
    const cursor = cursorOf(search, values);
    expect(cursor).toMatch(/^[\w-]+$/);
    expect(list(`${search}&after=${cursor}`)).toEqual({ ...list(search), cursor: { direction: 'after', values } });
    expect(list(`before=${cursor}&${search}`).cursor).toEqual({ direction: 'before', values });
  });

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
    [`${page}&_cnd[pages]=1`, `${page}&_cnd[position]=1`, false],
  ])('a cursor of ?%s fits ?%s: %s', (one, other, fits) => {
    const search = `${other}&after=${cursorOf(one, [5, 7])}`;
    if (fits) expect(list(search).cursor?.values).toEqual([5, 7]);
    else
      expect(problemOf(() => list(search)).errors).toEqual([
        { parameter: 'after', code: 'invalid-cursor', message: expect.stringContaining('another') },
      ]);
  });

  test('a cursor of another type is refused', () => {
    const cursor = encodeCursor(list('', typeOf('Cover')), [7]) ?? '';
    expect(list(`${page}&after=${cursor}`, typeOf('Cover')).cursor?.values).toEqual([7]);
    expect(faultsOf(() => list(`${page}&after=${cursor}`, typeOf('Author')))).toEqual(['after: invalid-cursor']);
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

  test.each<[string, unknown]>([
    ['a number', 5],
    ['U+0000', '\0'],
    ['half a character', '\ud800'],
    ['an array', ['x']],
    ['an object', {}],
  ])('a cursor that holds %s for a string is refused', (_title, bad) => {
    const search = `${page}&_cnd[orderBy]=title`;
    expect(faultsOf(() => list(`${search}&after=${cursorOf(search, [bad as string, 7])}`))).toEqual([
      'after: invalid-cursor',
    ]);
  });

  test.each(['', 'x', '%20', '!', 'bnVsbA', 'e30', 'W10', 'WyI'])('after=%s is refused', (cursor) => {
    expect(faultsOf(() => list(`${page}&after=${cursor}`))).toEqual(['after: invalid-cursor']);
  });

  const cursor = cursorOf(page, [5, 7]);
  test.each([
    ['after=CURSOR', 'after: needs-limit'],
    ['_cnd[limit][0]=0&after=CURSOR', 'after: needs-limit'],
    ['_cnd[limit]=1&_cnd[limit]=20&after=CURSOR', 'after: contradiction'],
    ['_cnd[limit]=0&_cnd[limit]=20&after=CURSOR&before=CURSOR', 'after: contradiction'],
    ['_cnd[limit]=0&_cnd[limit]=20&after=CURSOR&after=CURSOR', 'after: repeated'],
    ['_cnd[limit]=0&_cnd[limit]=20&before=x', 'before: invalid-cursor'],
    ['_cnd[limit]=0&_cnd[limit]=x&before=x', '_cnd[limit]: invalid-value'],
  ])('?%s is refused', (search, faults) => {
    expect(faultsOf(() => list(search.replaceAll('CURSOR', cursor))).join(' ')).toBe(faults);
  });

  test('values that no URL could carry give no cursor', () => {
    const query = list(`${page}&_cnd[orderBy]=title`);
    expect(encodeCursor(query, ['x'.repeat(1000), 7])).toBeDefined();
    expect(encodeCursor(query, ['x'.repeat(2000), 7])).toBeUndefined();
  });

  test.each([
    ['_cnd[limit]=40&_cnd[limit]=20', ''],
    ['_cnd[limit][1]=20&_cnd[title]=a%26b&after=x&include=author', '_cnd%5Btitle%5D=a%26b&include=author&'],
    [
      '_cnd[orderBy][0]=title&_cnd[orderBy][1]=desc&before=x',
      '_cnd%5BorderBy%5D%5B0%5D=title&_cnd%5BorderBy%5D%5B1%5D=desc&',
    ],
    [
      '_cnd[title][like]=>;<*é&fields=',
      '_cnd%5Btitle%5D%5Blike%5D=%3E%3B%3C*é&fields=&'.replace('é', encodeURIComponent('é')),
    ],
  ])('the neighbours of ?%s', (search, kept) => {
    const searchOf = pageSearches(search.replace('é', '\u00c3\u00a9'), 20);
    expect(searchOf()).toBe(`${kept}_cnd%5Blimit%5D=0&_cnd%5Blimit%5D=20`);
    expect(searchOf('after', 'abc')).toBe(`${kept}_cnd%5Blimit%5D=0&_cnd%5Blimit%5D=20&after=abc`);
    expect(searchOf('before', 'abc')).toBe(`${kept}_cnd%5Blimit%5D=0&_cnd%5Blimit%5D=20&before=abc`);
  });
});

describe('operators, as SQLite runs them', () => {
  const database = new Database(':memory:');
  database.exec(String.raw`create table t (v text) strict;
    insert into t values (null), (''), ('a'), ('A'), ('ab'), ('a%'), ('a_b'), ('a\b'), ('é'), ('É')`);
  afterAll(() => database.close());

  function found(filter: Pick<Filter, 'operator' | 'value'>): string {
    const { condition, operands } = operators[filter.operator];
    const sql = `select v from t where ${condition('v', operandCount({ ...filter, path: PATH }))} order by rowid`;
    const values: unknown[] = database
      .prepare(sql)
      .pluck()
      .all(...operands(filter.value));
    return values.map((value) => JSON.stringify(value)).join(' ');
  }
  const [{ path: PATH }] = list('_cnd[title]=x').filters as [Filter];

  test.each<[Filter['operator'], Filter['value'], string]>([
    ['eq', 'a', '"a"'],
    ['eq', '', '""'],
    ['ne', 'a', 'null "" "A" "ab" "a%" "a_b" "a\\\\b" "é" "É"'],
    ['lt', 'a', '"" "A"'],
    ['lte', 'a', '"" "a" "A"'],
    ['gt', 'ab', '"é" "É"'],
    ['gte', 'ab', '"ab" "é" "É"'],
    ['in', ['a', 'ab', 'x'], '"a" "ab"'],
    ['in', ['a'], '"a"'],
    ['like', 'a', '"a" "A"'],
    ['like', 'a*', '"a" "A" "ab" "a%" "a_b" "a\\\\b"'],
    ['like', '*B', '"ab" "a_b" "a\\\\b"'],
    ['like', 'a%', '"a%"'],
    ['like', 'a_b', '"a_b"'],
    ['like', 'a\\b', '"a\\\\b"'],
    ['like', 'é', '"é"'],
    ['like', '', '""'],
    ['like', '*', '"" "a" "A" "ab" "a%" "a_b" "a\\\\b" "é" "É"'],
    ['null', true, 'null'],
    ['null', false, '"" "a" "A" "ab" "a%" "a_b" "a\\\\b" "é" "É"'],
  ])('%s %j', (operator, value, expected) => {
    expect(found({ operator, value })).toBe(expected);
  });

  test.each([
    ['', ''],
    ['a*b', 'a%b'],
    ['***', '%'],
    ['50%_\\', '50\\%\\_\\\\'],
  ])('the pattern of %j is %j', (text, expected) => {
    expect(pattern(text)).toBe(expected);
  });

  test.each(Object.entries(operators))('%s', (name, operator) => {
    expect(operator.name).toBe(name);
    expect(operator.description).toMatch(/\.$/);
  });
});

describe('properties', () => {
  const seeded = { seed: 20_240_229, numRuns: 500 };
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
      seeded,
    );
  });

  test('every form of a limit means the same', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat(100), form, (offset, limit, write) => {
        const search = write('_cnd[limit]', [String(offset), String(limit)]).join('&');
        expect(list(search)).toMatchObject({ offset, limit });
      }),
      seeded,
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
      seeded,
    );
  });

  test('the values of a filter come through whatever they are', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 50 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 100 }), form, (values, write) => {
        expect(list(write('_cnd[title][in]', values).join('&')).filters.map(({ value }) => value)).toEqual([values]);
      }),
      seeded,
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
      { ...seeded, numRuns: 5000 },
    );
    expect(refused).toBeGreaterThan(1000);
  });

  test.each<[string, (size: number) => string]>([
    ['&&&&', (size) => '&'.repeat(size)],
    ['a&a&a', (size) => 'a&'.repeat(size / 2)],
    ['a0&a1&a2', (size) => Array.from({ length: size / 6 }, (_, index) => `a${index}`).join('&')],
    ['_cnd[_cnd[_cnd[', (size) => '_cnd['.repeat(size / 5)],
    ['_cnd[a][a][a]', (size) => `_cnd${'[a]'.repeat(size / 3)}`],
    ['_cnd[title.a.a.a]', (size) => `_cnd[author${'.mentor'.repeat(size / 7)}]=1`],
    ['_cnd[x0]&_cnd[x1]', (size) => Array.from({ length: size / 11 }, (_, index) => `_cnd[x${index}]`).join('&')],
    [
      '_cnd[title][in][0]&_cnd[title][in][1]',
      (size) => Array.from({ length: size / 20 }, (_, index) => `_cnd[title][in][${index}]`).join('&'),
    ],
    ['_cnd[limit]&_cnd[limit]', (size) => '_cnd[limit]=1&'.repeat(size / 14)],
    ['_cnd[orderBy]=title&_cnd[orderBy]=title', (size) => '_cnd[orderBy]=title&'.repeat(size / 20)],
    [
      '_cnd[orderBy][0][0]&_cnd[orderBy][1][0]',
      (size) => Array.from({ length: size / 22 }, (_, index) => `_cnd[orderBy][${index}][0]=x`).join('&'),
    ],
    ['fields=a,a,a', (size) => `fields=${'a,'.repeat(size / 2)}`],
    ['fields=title,title', (size) => `fields=${'title,'.repeat(size / 6)}`],
    ['include=a.a.a', (size) => `include=${'author.'.repeat(size / 7)}`],
    ['%%%%', (size) => '%'.repeat(size)],
    ['%&%&', (size) => '%&'.repeat(size / 2)],
    ['%41%41', (size) => `a=${'%41'.repeat(size / 3)}`],
    ['_cnd[title][like]=****', (size) => `_cnd[title][like]=${'*'.repeat(size)}`],
    ['after=AAAA', (size) => `_cnd[limit][1]=1&after=${'A'.repeat(size)}`],
  ])('%s…, eight times as long, does not take much more than eight times as long', (_title, write) => {
    const time = (size: number): number => {
      const search = write(size);
      const runs = Array.from({ length: 5 }, () => {
        const start = performance.now();
        try {
          list(search);
        } catch (error) {
          if (!(error instanceof Problem)) throw error;
        }
        return performance.now() - start;
      });
      return Math.min(...runs);
    };
    time(10_000);
    expect(time(80_000)).toBeLessThan(20 + 24 * time(10_000));
  });
});
