/** Changes of fields. */
import type { Scenario } from './scenario.ts';

const book = (...fields: readonly string[]): string =>
  ['type: Book', 'fields:', ...fields.map((field) => `  ${field}`)].join('\n');
const many = (count: number, body: (index: number) => unknown) =>
  Array.from({ length: count }, (_, index) => ['books', body(index)] as const);

const LONGER = JSON.stringify(Array.from({ length: 15 }, (_, index) => ({ title: 'x'.repeat(index + 1) })));

/** Records that stand in the way of one field: the field before and after, the records; the steps, and what is said of them. */
const BLOCKED = `
title: { type: string } => title: { type: string }; isbn: { type: string, required: true } => [{"title":"0"},{"title":"1"}]
  blocked add-required-field:isbn => 2 records: "isbn" would have no value; give it a default, or let it be null (1, 2)
title: { type: string, maxLength: 50 } => title: { type: string, maxLength: 3 } => ${LONGER}
  blocked narrow-field:title => 12 records: "title" is not a string of at most 3 characters (4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 2 more)
kind: { type: string, enum: [a, b] } => kind: { type: string, enum: [a] } => [{"kind":"a"},{"kind":"b"},{}]
  blocked narrow-field:kind => 1 record: "kind" is not one of "a" (2)
kind: { type: string, maxLength: 5 } => kind: { type: string, minLength: 2 } => [{"kind":"a"},{"kind":"b"},{}]
  blocked narrow-field:kind => 2 records: "kind" is not a string of at least 2 characters (1, 2)
tags: { type: array, items: { type: string, maxLength: 5 } } => tags: { type: array, items: { type: string, maxLength: 3 } } => [{"tags":["abc"]},{"tags":["abc","abcd"]},{}]
  blocked narrow-field:tags => 1 record: "tags" is not an array, each item a string of at most 3 characters (2)
price: { type: decimal, precision: 6, scale: 2 } => price: { type: decimal, precision: 6, scale: 3 } => [{"price":"1234.5"},{"price":"1.25"}]
  blocked narrow-field:price => 1 record: "price" is not a decimal number as a string, with at most 3 digits before the decimal point and 3 after it (1)
title: { type: string } => title: { type: string, required: true } => [{"title":"x"},{}]
  blocked require-field:title => 1 record: "title" is null; give it a value, or the field a default (2)
code: { type: integer, unique: true } => code: { type: integer, unique: true, default: 0 } => [{"code":0},{},{"code":4}]
  blocked fill-field:code, ready change-default:code => 1 record: "code" is null, and gets the default 0 (2); and 2 records: another one would have the same "code" (1, 2)
title: { type: string } => title: { type: string, unique: true } => [{"title":"a"},{"title":"b"},{"title":"a"},{"title":"c"},{"title":"b"},{"title":null}]
  blocked add-unique:title => 4 records: another one would have the same "title" (1, 2, 3, 5)
a: { type: integer } => a: { type: decimal, precision: 5, scale: 2 } => [{"a":12},{"a":12345}]
  blocked convert-field:a => 1 record: "a" is not a decimal number as a string, with at most 3 digits before the decimal point and 2 after it (2)
isbn: { type: string, unique: true } => isbn: { type: string, unique: true, caseless: true } => [{"isbn":"straße"},{"isbn":"x"},{"isbn":"STRASSE"},{"isbn":"X"},{"isbn":"y"}]
  ready add-caseless:isbn, blocked add-unique:isbn => 4 records: another one would have the same "isbn" (whatever its case) (1, 2, 3, 4)
`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' => '));

export const fieldScenarios: readonly Scenario[] = [
  {
    title: 'descriptions, examples, operations, path, order and wider constraints are no steps',
    before: { Book: book('title: { type: string, maxLength: 10 }', 'rate: { type: decimal, precision: 5, scale: 2 }') },
    records: many(1, () => ({ title: 'One', rate: '1.50' })),
    after: {
      Book: `${book('title: { type: string, maxLength: 20, description: Its title, examples: [One] }', 'rate: { type: decimal, precision: 7, scale: 3, readOnly: true }')}
path: volumes
operations: [list, get]
preconditions: required
list: { maxLimit: 5 }`,
    },
    steps: [],
    reads: ['GET /api/volumes => [{"id":1,"title":"One","rate":"1.50"}]'],
  },
  {
    title: 'a new field with a default, one without, one with an index: the records that are there get them',
    before: { Book: book('title: { type: string }') },
    records: many(2, (index) => ({ title: `${index}` })),
    after: {
      Book: book(
        'title: { type: string }',
        `note: { type: string, default: "it's" }`,
        'pages: { type: integer, index: true }',
        'tags: { type: array, default: [] }',
      ),
    },
    steps: [
      'ready add-field:Book.note',
      'ready add-field:Book.pages',
      'ready add-field:Book.tags',
      'ready add-index:Book.pages',
    ],
    reads: [
      `GET /api/books => [{"id":1,"title":"0","note":"it's","pages":null,"tags":[]},{"id":2,"title":"1","note":"it's","pages":null,"tags":[]}]`,
    ],
  },
  {
    title: 'renamed, of another type, and wider at once',
    before: { Book: book('pages: { type: integer, default: 7 }') },
    records: [...many(1, () => ({ pages: 300 })), ...many(1, () => ({}))],
    after: { Book: book('length: { type: decimal, scale: 1, renamedFrom: pages, default: "7" }') },
    steps: ['ready rename-field:Book.length', 'ready convert-field:Book.length'],
    reads: ['GET /api/books => [{"id":1,"length":"300"},{"id":2,"length":"7"}]'],
  },
  {
    title: 'a former name that stays in the descriptor does no harm',
    before: { Book: book('title: { type: string }') },
    records: many(1, () => ({ title: 'One' })),
    after: { Book: book('title: { type: string, renamedFrom: name }', 'note: { type: string, renamedFrom: remark }') },
    steps: ['ready not-moved:Book.note', 'ready add-field:Book.note'],
    reads: ['GET /api/books => [{"id":1,"title":"One","note":null}]'],
  },
  {
    title: 'a dropped field loses what it holds, and nothing else',
    before: {
      Book: book('title: { type: string }', 'isbn: { type: string, unique: true }', 'pages: { type: integer }'),
    },
    records: many(3, (index) => ({ title: `${index}`, ...(index > 0 ? { isbn: `i${index}` } : {}) })),
    after: { Book: book('title: { type: string }', 'pages: { type: integer }') },
    steps: ['kept drop-field:Book.isbn'],
    says: ['2 records: the value of "isbn" is lost (2, 3)'],
    reads: [
      'GET /api/books => [{"id":1,"title":"0","pages":null},{"id":2,"title":"1","pages":null},{"id":3,"title":"2","pages":null}]',
    ],
  },
  {
    title: 'a field that vanished beside one that looks the same is a question',
    before: { Book: book('title: { type: string, maxLength: 9 }', 'note: { type: string }') },
    records: many(2, (index) => ({ title: `T${index}`, note: 'n' })),
    after: { Book: book('heading: { type: string, maxLength: 9 }', 'note: { type: string }') },
    steps: ['unclear not-renamed:Book.title', 'ready add-field:Book.heading', 'kept drop-field:Book.title'],
    says: ['2 records: the value of "title" is lost (1, 2)'],
    reads: ['GET /api/books => [{"id":1,"heading":null,"note":"n"},{"id":2,"heading":null,"note":"n"}]'],
  },
  {
    title: 'a narrower field: where all records fit, it only has to be allowed',
    before: { Book: book('title: { type: string, maxLength: 50 }') },
    records: many(2, () => ({ title: 'abc' })),
    after: { Book: book('title: { type: string, maxLength: 3, pattern: "^[a-z]+$", examples: [abc] }') },
    steps: ['allow narrow-field:Book.title'],
    reads: ['GET /api/books/2 => {"id":2,"title":"abc"}'],
  },
  ...Array.from({ length: BLOCKED.length / 2 }, (_, index): Scenario => {
    const [was = '', is = '', bodies = '', steps = '', says = ''] = BLOCKED.slice(2 * index, 2 * index + 2).flat();
    return {
      title: `${was} becomes ${is}`,
      before: { Book: book(was) },
      records: (JSON.parse(bodies) as readonly object[]).map((one) => ['books', one] as const),
      after: { Book: book(...is.split('; ')) },
      steps: steps.split(', ').map((step) => step.replace(/ (.*):/, ' $1:Book.')),
      says: says.split('; and '),
      impossible: true,
    };
  }),
  {
    title: 'a field that may no longer be null and has a default: nulls get it, if that is allowed',
    before: { Book: book('pages: { type: integer }') },
    records: ['books {"pages":3}', 'books {}'],
    after: { Book: book('pages: { type: integer, default: 0 }') },
    steps: ['allow fill-field:Book.pages', 'ready change-default:Book.pages'],
    says: ['1 record: "pages" is null, and gets the default 0 (2)'],
    reads: ['GET /api/books => [{"id":1,"pages":3},{"id":2,"pages":0}]'],
  },
  {
    title: 'unique over records that differ has to be allowed; one that is gone goes at the start',
    before: { Book: book('title: { type: string }', 'isbn: { type: string, unique: true }') },
    records: ['books {"title":"a","isbn":"1"}', 'books {"title":"b"}', 'books {"title":"c"}'],
    after: { Book: book('title: { type: string, unique: true }', 'isbn: { type: string, index: true }') },
    steps: ['ready drop-unique:Book.isbn', 'allow add-unique:Book.title', 'ready add-index:Book.isbn'],
    reads: ['POST /api/books {"title": "a"} => {"status":409}'],
  },
  ...[
    ['isbn: { type: string, unique: true }', 'isbn: { type: string }', 'isbn'],
    [
      'isbn: { type: string, unique: true }',
      'isbn: { type: string, index: true }',
      'isbn',
      'ready add-index:Book.isbn',
    ],
    ['isbn: { type: string, unique: true, caseless: true }', 'isbn: { type: string, caseless: true }', 'isbn'],
    ['isbn: { type: string }\nunique: [[isbn, title]]', 'isbn: { type: string }', 'isbn+title'],
    [
      'isbn: { type: string }\n  kind: { type: string, default: x }\nunique: [[isbn, kind]]',
      'isbn: { type: string }',
      'isbn+kind',
      'kept drop-field:Book.kind',
    ],
  ].map(([was = '', is = '', name, ...kept]): Scenario => ({
    title: `${was} becomes ${is}: the rule goes at the start, and the type is written as before`,
    before: { Book: book('title: { type: string, default: T }', was) },
    records: ['books {"isbn":"a"}'],
    after: { Book: book('title: { type: string, default: T }', is) },
    steps: [`ready drop-unique:Book.${name}`, ...kept],
    ...(was.includes('kind') ? { says: ['1 record: the value of "kind" is lost (1)'] } : {}),
    reads: [
      'POST /api/books {"isbn": "a"} => {"id":2,"isbn":"a","title":"T"}',
      'PATCH /api/books/1 {"isbn": "b"} => {"id":1,"isbn":"b","title":"T"}',
    ],
  })),
  {
    title: 'types that hold: integer to decimal, string and number; decimal and date to string; anything to any',
    before: {
      Book: book(
        'a: { type: integer }',
        'b: { type: integer }',
        'c: { type: integer }',
        'd: { type: decimal, scale: 2 }',
        'e: { type: date }',
        'f: { type: string }',
        'g: { type: boolean }',
        'h: { type: decimal, scale: 2 }',
        'i: { type: array }',
      ),
    },
    records: [
      [
        'books',
        { a: 9007199254740991, b: -5, c: 7, d: '1.50', e: '2030-12-31', f: 'q"', g: true, h: '0.10', i: [1, 'é'] },
      ],
      ['books', {}],
    ].map(([path, body]) => [String(path), { ...(body as object), ...(body === undefined ? {} : {}) }] as const),
    after: {
      Book: book(
        'a: { type: string }',
        'b: { type: decimal, scale: 2 }',
        'c: { type: number }',
        'd: { type: string, maxLength: 4 }',
        'e: { type: string }',
        'f: { type: any }',
        'g: { type: any }',
        'h: { type: any }',
        'i: { type: any }',
      ),
    },
    steps: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((name) => `ready convert-field:Book.${name}`),
    reads: [
      'GET /api/books => [{"id":1,"a":"9007199254740991","b":"-5","c":7,"d":"1.50","e":"2030-12-31","f":"q\\"","g":true,"h":"0.10","i":[1,"é"]},{"id":2,"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null,"i":null}]',
    ],
  },
  {
    title: 'types that do not hold say why not',
    before: { Book: book('a: { type: string }', 'b: { type: boolean }') },
    records: ['books {"a":"12","b":true}'],
    after: { Book: book('a: { type: integer }', 'b: { type: integer }') },
    steps: ['blocked replace-field:Book.a', 'blocked replace-field:Book.b'],
    says: [
      '1 record: "a" has a value, and string cannot become integer (it can become any); add a field of another name, and copy the values (1)',
      '1 record: "b" has a value, and boolean cannot become integer (it can become any); add a field of another name, and copy the values (1)',
    ],
    impossible: true,
  },
  {
    title:
      'a new check counts the records that do not meet it, and refuses nothing; a renamed field stays in its check',
    before: {
      Book: `${book('low: { type: integer }', 'high: { type: decimal, scale: 2 }', 'kind: { type: string, default: a }')}
checks:
  - must: { kind: { ne: x } }
  - must: { high: { ne: '7' } }`,
    },
    records: many(5, (index) => ({ low: 3, high: index === 4 ? null : `${index + 1}.00` })),
    after: {
      Book: `${book('least: { type: integer, renamedFrom: low }', 'high: { type: decimal, scale: 2 }', 'kind: { type: string, default: a }', 'top: { type: integer, default: 2 }')}
checks:
  - { must: { kind: { ne: x } }, message: Another kind }
  - must: { high: { gte: { field: least } } }
    message: High must not be below least
  - must: { top: { gt: { field: least } } }
    when: { high: { null: true } }`,
    },
    steps: [
      'ready rename-field:Book.least',
      'ready add-field:Book.top',
      'ready drop-check:Book.high',
      'ready add-check:Book.high,least',
      'ready add-check:Book.top,least,high',
    ],
    reads: ['GET /api/books?_cnd[high]=1.00 => [{"id":1,"least":3,"high":"1.00","kind":"a","top":2}]'],
  },
  {
    title: 'generated fields that are new are null in the records that are there',
    before: { Book: book('title: { type: string }') },
    records: many(2, (index) => ({ title: `${index}` })),
    after: {
      Book: book(
        'title: { type: string }',
        'made: { type: timestamp, generated: createdAt, index: true }',
        'changed: { type: timestamp, generated: updatedAt }',
        'by: { type: string, generated: updatedBy }',
      ),
    },
    steps: [
      'ready add-field:Book.made',
      'ready add-field:Book.changed',
      'ready add-field:Book.by',
      'ready add-index:Book.made',
    ],
    reads: [
      'GET /api/books => [{"id":1,"title":"0","made":null,"changed":null,"by":null},{"id":2,"title":"1","made":null,"changed":null,"by":null}]',
    ],
  },
  {
    title: 'a day that is now by default is that of the change in the records that are there',
    before: { Book: book("a: { type: date, default: '2001-02-03' }", 'b: { type: timestamp }') },
    records: many(3, (index) => (index === 0 ? { b: '2001-02-03T04:05:06Z' } : {})),
    after: {
      Book: book(
        'a: { type: date, default: now }',
        'b: { type: timestamp, default: now }',
        'c: { type: date, default: now }',
        'd: { type: timestamp, default: now, nullable: true }',
      ),
    },
    steps: [
      'ready change-default:Book.a',
      'allow fill-field:Book.b',
      'ready change-default:Book.b',
      'ready add-field:Book.c',
      'ready add-field:Book.d',
    ],
    says: ['2 records: "b" is null, and gets the default now (2, 3)'],
    reads: [
      'GET /api/books?_cnd[b][lte]=2001-02-03T04:05:06Z&fields=a => [{"id":1,"a":"2001-02-03"}]',
      'GET /api/books?_cnd[b][gt]=2026-01-01T00:00:00Z&_cnd[c][gt]=2026-01-01&_cnd[d][gt]=2026-01-01T00:00:00Z&fields=id => [{"id":2},{"id":3}]',
    ],
  },
  {
    title: 'case is ignored: texts that are there are found whatever their case, and indexes are replaced',
    before: {
      Book: book(
        'title: { type: string, index: true }',
        'isbn: { type: string, unique: true }',
        'pages: { type: integer }',
      ),
    },
    records: [
      'books {"title":"Straße","isbn":"A","pages":1}',
      'books {"title":"ΐ","isbn":"b","pages":2}',
      'books {"title":"Émile","isbn":null,"pages":3}',
      'books {"title":null,"isbn":null,"pages":4}',
      'books {"title":"emil","isbn":"c","pages":5}',
    ],
    after: {
      Book: book(
        'title: { type: string, index: true, caseless: true }',
        'isbn: { type: string, unique: true, caseless: true }',
        'pages: { type: integer }',
        'note: { type: string, caseless: true, default: Ärger }',
      ),
    },
    steps: [
      'ready add-caseless:Book.title',
      'ready add-caseless:Book.isbn',
      'ready add-field:Book.note',
      'allow add-unique:Book.isbn',
      'ready add-index:Book.title',
    ],
    reads: [
      'GET /api/books?_cnd[title]=STRASSE&fields=title => [{"id":1,"title":"Straße"}]',
      'GET /api/books?_cnd[title]=%CE%AA%CC%81&fields=title => [{"id":2,"title":"ΐ"}]',
      'GET /api/books?_cnd[title]=%C3%89MILE&fields=isbn => [{"id":3,"isbn":null}]',
      'GET /api/books?_cnd[title][null]=true&fields=isbn => [{"id":4,"isbn":null}]',
      'GET /api/books?_cnd[note]=%C3%A4RGER&_cnd[orderBy]=isbn&_cnd[limit][1]=5&fields=isbn,note => [{"id":3,"isbn":null,"note":"Ärger"},{"id":4,"isbn":null,"note":"Ärger"},{"id":1,"isbn":"A","note":"Ärger"},{"id":2,"isbn":"b","note":"Ärger"},{"id":5,"isbn":"c","note":"Ärger"}]',
    ],
  },
  {
    title: 'case counts again where values are unique: they are so by the texts themselves from the start on',
    before: { Book: book('isbn: { type: string, unique: true, caseless: true }') },
    records: ['books {"isbn":"Straße"}'],
    after: { Book: book('isbn: { type: string, unique: true }') },
    steps: ['ready drop-caseless:Book.isbn'],
    reads: [
      'POST /api/books {"isbn": "STRASSE"} => {"id":2,"isbn":"STRASSE"}',
      'POST /api/books {"isbn": "STRASSE"} => {"status":409}',
      'DELETE /api/books/2 => {"id":2,"isbn":"STRASSE"}',
      'GET /api/books?_cnd[isbn]=STRASSE => []',
      'GET /api/books?_cnd[isbn]=Stra%C3%9Fe => [{"id":1,"isbn":"Straße"}]',
    ],
  },
  {
    title:
      'case counts again, and the values need not differ: the rule goes at the start, the folded text when it is allowed',
    before: { Book: book('isbn: { type: string, unique: true, caseless: true }') },
    records: ['books {"isbn":"Straße"}'],
    after: { Book: book('isbn: { type: string }') },
    steps: ['ready drop-unique:Book.isbn', 'kept drop-caseless:Book.isbn'],
    reads: ['POST /api/books {"isbn": "STRASSE"} => {"id":2,"isbn":"STRASSE"}'],
  },
];
