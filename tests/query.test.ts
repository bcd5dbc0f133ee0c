import fc from 'fast-check';
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
