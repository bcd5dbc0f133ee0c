/** Changes of relations, among them of parents whose children would be deleted with them. */
import type { Scenario } from './scenario.ts';

const author = (relation = ''): string =>
  `type: Author\nfields:\n  name: { type: string }\n${relation === '' ? '' : `relations:\n  ${relation}\n`}`;
const book = (...relations: readonly string[]): string =>
  [
    'type: Book',
    'fields:',
    '  title: { type: string }',
    ...(relations.length > 0 ? ['relations:'] : []),
    ...relations.map((one) => `  ${one}`),
  ].join('\n');

const AUTHORS = [
  ['authors', { name: 'A' }],
  ['authors', { name: 'B' }],
] as const;
const BOOKS = [
  ['books', { title: 'One', author: { id: 1 } }],
  ['books', { title: 'Two', author: { id: 1 } }],
  ['books', { title: 'Three' }],
] as const;

export const relationScenarios: readonly Scenario[] = [
  {
    title: 'a new relation, with its inverse',
    before: { Author: author(), Book: book() },
    records: [...AUTHORS, ['books', { title: 'One' }]],
    after: {
      Author: author('books: { kind: hasMany, type: Book, inverse: author }'),
      Book: book('author: { kind: belongsTo, type: Author }'),
    },
    steps: ['ready add-relation:Book.author'],
    reads: [
      'GET /api/books => [{"id":1,"title":"One","author":null}]',
      'PUT /api/books/1 {"author": {"id": 2}} => {"id":1,"title":"One","author":{"id":2,"name":"B"}}',
      'GET /api/authors/2 => {"id":2,"name":"B","books":[{"id":1,"title":"One"}]}',
    ],
  },
  {
    title: 'a required relation is impossible over records, and nothing without them',
    before: { Author: author(), Book: book() },
    records: [...AUTHORS, ['books', { title: 'One' }]],
    after: { Book: book('author: { kind: belongsTo, type: Author, required: true }') },
    steps: ['blocked add-required-relation:Book.author'],
    says: ['1 record: there would be no "author"; do not require it yet (1)'],
    impossible: true,
  },
  {
    title: 'a name for the other side of what is there is no step',
    before: { Author: author(), Book: book('author: { kind: belongsTo, type: Author }') },
    records: [...AUTHORS, ...BOOKS],
    after: { Author: author('books: { kind: hasMany, type: Book, inverse: author }') },
    steps: [],
    reads: [
      'GET /api/authors/1?fields=books.title => {"id":1,"books":[{"id":1,"title":"One"},{"id":2,"title":"Two"}]}',
    ],
  },
  {
    title: 'a relation that vanished beside one that looks the same is a question',
    before: { Author: author(), Book: book('author: { kind: belongsTo, type: Author }') },
    records: [...AUTHORS, ...BOOKS],
    after: { Book: book('writer: { kind: belongsTo, type: Author }') },
    steps: ['unclear not-renamed:Book.author', 'ready add-relation:Book.writer', 'kept drop-relation:Book.author'],
    says: ['2 records: the connection "author" is lost (1, 2)'],
    reads: ['GET /api/books/1 => {"id":1,"title":"One","writer":null}'],
  },
  {
    title: 'a dropped relation',
    before: { Author: author(), Book: book('author: { kind: belongsTo, type: Author }') },
    records: [...AUTHORS, ...BOOKS],
    after: { Book: book() },
    steps: ['kept drop-relation:Book.author'],
    says: ['2 records: the connection "author" is lost (1, 2)'],
    reads: ['GET /api/books => [{"id":1,"title":"One"},{"id":2,"title":"Two"},{"id":3,"title":"Three"}]'],
  },
  {
    title: 'another type at the other end is another relation',
    before: { Author: author(), Genre: 'type: Genre', Book: book('about: { kind: belongsTo, type: Author }') },
    records: [...AUTHORS, ['books', { title: 'One', about: { id: 2 } }]],
    after: { Book: book('about: { kind: belongsTo, type: Genre }') },
    steps: ['unclear not-moved:Book.about', 'ready add-relation:Book.about', 'kept drop-relation:Book.about'],
    says: ['1 record: the connection "about" is lost (1)'],
    reads: ['GET /api/books => [{"id":1,"title":"One","about":null}]'],
  },
  {
    title: 'a relation that becomes required: records without it stand in the way',
    before: { Author: author(), Book: book('author: { kind: belongsTo, type: Author }') },
    records: [...AUTHORS, ...BOOKS],
    after: { Book: book('author: { kind: belongsTo, type: Author, required: true }') },
    steps: ['blocked require-relation:Book.author'],
    says: ['1 record: there is no "author"; link one (3)'],
    impossible: true,
  },
  {
    title: 'a relation that is required no longer, and deletes with its parent',
    before: { Author: author(), Book: book('author: { kind: belongsTo, type: Author, required: true }') },
    records: [...AUTHORS, ...BOOKS.slice(0, 2)],
    after: { Book: book('author: { kind: belongsTo, type: Author, onDelete: cascade }') },
    steps: ['ready relax-relation:Book.author', 'ready change-deletion:Book.author'],
    reads: [
      'GET /api/books/2 => {"id":2,"title":"Two","author":{"id":1,"name":"A"}}',
      'POST /api/books {"title": "Four"} => {"id":3,"title":"Four","author":null}',
      'DELETE /api/authors/1 => {"id":1,"name":"A"}',
      'GET /api/books => [{"id":3,"title":"Four","author":null}]',
    ],
  },
  {
    title: 'a rebuilt parent keeps the children that are deleted with it',
    before: {
      Author: `type: Author
fields: { name: { type: string }, born: { type: integer } }
relations: { books: { kind: hasMany, type: Book, inverse: author, owned: true } }`,
      Book: `type: Book
fields: { title: { type: string } }
relations:
  author: { kind: belongsTo, type: Author }
  pages: { kind: hasMany, type: Page, owned: true }`,
      Page: 'type: Page\nfields: { text: { type: string } }',
    },
    records: ['authors {"name":"A","born":1900,"books":[{"title":"One","pages":[{"text":"x"},{"text":"y"}]}]}'],
    after: {
      Author: `type: Author
identifier: { name: number }
fields: { name: { type: string }, born: { type: string } }
relations: { books: { kind: hasMany, type: Book, inverse: author, owned: true } }`,
    },
    steps: ['ready rename-identifier:Author', 'ready convert-field:Author.born'],
    reads: [
      'GET /api/authors/1?include=books.pages => {"number":1,"name":"A","born":"1900","books":[{"id":1,"title":"One","pages":[{"id":1,"text":"x"},{"id":2,"text":"y"}]}]}',
      'DELETE /api/authors/1 => *',
      'GET /api/pages => []',
    ],
  },
  {
    title: 'hasMany becomes hasOne: children that share their parent stand in the way',
    before: {
      Author: author('books: { kind: hasMany, type: Book, inverse: author }'),
      Book: book('author: { kind: belongsTo, type: Author }'),
    },
    records: [...AUTHORS, ...BOOKS],
    after: { Author: author('books: { kind: hasOne, type: Book, inverse: author }') },
    steps: ['blocked unshare-relation:Book.author'],
    says: ['2 records: another one has the same "author" (1, 2)'],
    impossible: true,
  },
  {
    title: 'hasMany becomes hasOne where no two share it; hasOne becomes hasMany',
    before: {
      Author: author('books: { kind: hasMany, type: Book, inverse: author }'),
      Book: book('author: { kind: belongsTo, type: Author }', 'cover: { kind: hasOne, type: Cover, inverse: book }'),
      Cover: 'type: Cover\nrelations: { book: { kind: belongsTo, type: Book } }',
    },
    records: [...AUTHORS, BOOKS[0], ['covers', { book: { id: 1 } }]],
    after: {
      Author: author('book: { kind: hasOne, type: Book, inverse: author, renamedFrom: books }'),
      Book: book(
        'author: { kind: belongsTo, type: Author }',
        'covers: { kind: hasMany, type: Cover, inverse: book, renamedFrom: cover }',
      ),
    },
    steps: ['allow unshare-relation:Book.author', 'ready share-relation:Cover.book'],
    reads: [
      'GET /api/authors/1 => {"id":1,"name":"A","book":{"id":1,"title":"One"}}',
      'POST /api/books {"author": {"id": 1}} => {"status":409}',
      'POST /api/covers {"book": {"id": 1}} => {"id":2,"book":{"id":1,"title":"One"}}',
    ],
  },
  {
    title: 'a relation of another kind is another relation',
    before: { Author: author(), Book: `open: true\n${book('author: { kind: belongsTo, type: Author }')}` },
    records: [...AUTHORS, ...BOOKS, ['books', { 'author 2': 'own' }]],
    after: { Book: `open: true\n${book('author: { kind: manyToMany, type: Author }')}` },
    steps: ['unclear not-moved:Book.author', 'ready add-relation:Book.author', 'kept drop-relation:Book.author'],
    says: ['2 records: the connection "author" is lost (1, 2)'],
    reads: ['GET /api/books/1 => {"id":1,"title":"One","author":[]}'],
  },
  {
    title: 'a field that becomes a relation, and a relation that becomes a field',
    before: {
      Author: author(),
      Book: book('author: { kind: belongsTo, type: Author }').replace('title:', 'editor: { type: string }\n  title:'),
    },
    records: [...AUTHORS, ['books', { title: 'One', editor: 'E', author: { id: 1 } }]],
    after: {
      Book: book('editor: { kind: belongsTo, type: Author }').replace(
        'title:',
        'author_name: { type: string, renamedFrom: author }\n  title:',
      ),
    },
    steps: [
      'unclear not-moved:Book.author_name',
      'unclear not-moved:Book.editor',
      'unclear not-renamed:Book.editor',
      'unclear not-renamed:Book.author',
      'ready add-field:Book.author_name',
      'ready add-relation:Book.editor',
      'kept drop-field:Book.editor',
      'kept drop-relation:Book.author',
    ],
    says: ['1 record: the value of "editor" is lost (1)', '1 record: the connection "author" is lost (1)'],
    reads: ['GET /api/books/1 => {"id":1,"author_name":null,"title":"One","editor":null}'],
  },
  {
    title: 'relations that are no two sides any more: the one without the links is a question',
    before: {
      Author: author('books: { kind: hasMany, type: Book, inverse: author }'),
      Book: book('author: { kind: belongsTo, type: Author }'),
    },
    records: [...AUTHORS, ...BOOKS],
    after: { Author: author('books: { kind: hasMany, type: Book }') },
    steps: ['unclear not-moved:Author.books', 'ready add-relation:Author.books'],
    reads: ['GET /api/authors/1 => {"id":1,"name":"A","books":[]}'],
  },
  {
    title: 'manyToMany: no two sides any more',
    before: {
      Author: author('books: { kind: manyToMany, type: Book, inverse: authors }'),
      Book: book('authors: { kind: manyToMany, type: Author }'),
    },
    records: [...AUTHORS, ['books', { title: 'One', authors: [{ id: 1 }] }]],
    after: { Author: author('books: { kind: manyToMany, type: Book }') },
    steps: ['unclear not-moved:Book.authors', 'ready add-relation:Book.authors'],
    reads: ['GET /api/authors/1 => {"id":1,"name":"A","books":[{"id":1,"title":"One"}]}'],
  },
  {
    title: 'a misspelled former name of a relation is a question',
    before: { Author: author(), Genre: 'type: Genre', Book: book('author: { kind: belongsTo, type: Author }') },
    records: [...AUTHORS, ['books', { title: 'One', author: { id: 1 } }]],
    after: { Book: book('about: { kind: belongsTo, type: Genre, renamedFrom: autor }') },
    steps: ['unclear not-moved:Book.about', 'ready add-relation:Book.about', 'kept drop-relation:Book.author'],
    says: ['1 record: the connection "author" is lost (1)'],
    reads: ['GET /api/books/1 => {"id":1,"title":"One","about":null}'],
  },
  {
    title: 'manyToMany: renamed on both sides, with another table',
    before: {
      Author: author('books: { kind: manyToMany, type: Book, inverse: authors }'),
      Book: book('authors: { kind: manyToMany, type: Author }'),
    },
    records: [
      ...AUTHORS,
      ['books', { title: 'One', authors: [{ id: 1 }, { id: 2 }] }],
      ['books', { title: 'Two', authors: [{ id: 2 }] }],
    ],
    after: {
      Author: author('works: { kind: manyToMany, type: Book, inverse: writers, renamedFrom: books, through: writing }'),
      Book: book('writers: { kind: manyToMany, type: Author, renamedFrom: authors }'),
    },
    steps: ['ready rename-relation:Author.works'],
    reads: [
      'GET /api/books/1 => {"id":1,"title":"One","writers":[{"id":1,"name":"A"},{"id":2,"name":"B"}]}',
      'GET /api/authors/2 => {"id":2,"name":"B","works":[{"id":1,"title":"One"},{"id":2,"title":"Two"}]}',
    ],
  },
  {
    title: 'manyToMany: dropped',
    before: { Author: author(), Book: book('authors: { kind: manyToMany, type: Author }') },
    records: [...AUTHORS, ['books', { title: 'One', authors: [{ id: 1 }, { id: 2 }] }]],
    after: { Book: book() },
    steps: ['kept drop-relation:Book.authors'],
    says: ['2 records: a connection "authors" is lost (1, 1)'],
    reads: [
      'GET /api/books => [{"id":1,"title":"One"}]',
      'GET /api/authors => [{"id":1,"name":"A"},{"id":2,"name":"B"}]',
    ],
  },
  {
    title: 'a relation that leads into a circle stands in the way of acyclic',
    before: {
      Book: book(
        'above: { kind: belongsTo, type: Book, inverse: belows }',
        'belows: { kind: hasMany, type: Book, inverse: above }',
      ),
    },
    records: [
      'books {"id":1,"title":"One"}',
      'books {"id":2,"title":"Two","above":{"id":1}}',
      'books {"id":3,"title":"Three","above":{"id":2},"belows":[{"id":1}]}',
      'books {"id":4,"title":"Four","above":{"id":3}}',
      'books {"id":5,"title":"Five"}',
      'books {"id":6,"title":"Six","above":{"id":5}}',
    ],
    after: {
      Book: book(
        'above: { kind: belongsTo, type: Book, inverse: belows, acyclic: true }',
        'belows: { kind: hasMany, type: Book, inverse: above }',
      ),
    },
    steps: ['blocked forbid-cycles:Book.above'],
    says: ['4 records: "above" leads into a circle; unlink one record of it (1, 2, 3, 4)'],
    impossible: true,
  },
];
