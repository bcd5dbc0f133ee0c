/** Changes of whole types, and of what open types keep. */
import type { Scenario } from './scenario.ts';

const book = 'type: Book\nfields:\n  title: { type: string }\n';
const ONE = [['books', { title: 'One' }]] as const;
const open = (...fields: readonly string[]): string =>
  ['type: Thing', 'open: true', 'fields:', '  code: { type: string }', ...fields].join('\n');

export const typeScenarios: readonly Scenario[] = [
  {
    title: 'a new type',
    before: { Book: book },
    records: ONE,
    after: { Shelf: 'type: Shelf\nrelations: { books: { kind: hasMany, type: Book } }' },
    steps: ['ready add-relation:Shelf.books', 'ready add-type:Shelf'],
    reads: ['POST /api/shelves {"books": [{"id": 1}]} => {"id":1,"books":[{"id":1,"title":"One"}]}'],
  },
  {
    title: 'a type that vanished beside one that looks the same is a question',
    before: { Book: book },
    records: ONE,
    after: { Book: null, Volume: book.replace('Book', 'Volume') },
    steps: ['unclear not-renamed:Book', 'ready add-type:Volume', 'kept drop-type:Book'],
    says: ['1 record: lost as a whole (1)'],
    reads: ['GET /api/volumes => []'],
  },
  {
    title: 'a misspelled former name of a type that has other fields is a question',
    before: { Book: 'type: Book\nfields: { title: { type: string } }' },
    records: ['books {"title":"One"}'],
    after: { Book: null, Volume: 'type: Volume\nrenamedFrom: Bok\nfields: { name: { type: string } }' },
    steps: ['unclear not-moved:Volume', 'ready add-type:Volume', 'kept drop-type:Book'],
    says: ['1 record: lost as a whole (1)'],
    reads: ['GET /api/volumes => []'],
  },
  {
    title: 'a new type that asks for the table of a type that is gone is a question',
    before: { Book: 'type: Book\nfields: { title: { type: string } }' },
    records: ['books {"title":"One"}'],
    after: { Book: null, Volume: 'type: Volume\ntable: books\nfields: { name: { type: string } }' },
    steps: ['unclear not-moved:Volume', 'ready add-type:Volume', 'kept drop-type:Book'],
    says: ['1 record: lost as a whole (1)'],
    reads: ['GET /api/volumes => []'],
  },
  {
    title: 'a dropped type, and the relations to it',
    before: {
      Book: `${book}relations: { author: { kind: belongsTo, type: Author }, tags: { kind: manyToMany, type: Author } }`,
      Author: 'type: Author\nfields: { name: { type: string } }',
    },
    records: ['authors {"name":"A"}', 'books {"title":"One","author":{"id":1},"tags":[{"id":1}]}'],
    after: { Author: null, Book: book },
    steps: ['kept drop-type:Author', 'kept drop-relation:Book.author', 'kept drop-relation:Book.tags'],
    says: [
      '1 record: lost as a whole (1)',
      '1 record: the connection "author" is lost (1)',
      '1 record: a connection "tags" is lost (1)',
    ],
    reads: ['GET /api/books => [{"id":1,"title":"One"}]'],
  },
  {
    title: 'another table, and another identifier',
    before: {
      Book: `${book}unique: [[title]]`,
      Loan: 'type: Loan\nrelations: { book: { kind: belongsTo, type: Book } }',
    },
    records: [...ONE, ['loans', { book: { id: 1 } }]],
    after: { Book: `${book}unique: [[title]]\ntable: volumes\nidentifier: { name: number }` },
    steps: ['ready rename-identifier:Book'],
    reads: [
      'GET /api/books => [{"number":1,"title":"One"}]',
      'GET /api/loans => [{"id":1,"book":{"number":1,"title":"One"}}]',
      'POST /api/books {"title": "One"} => {"status":409}',
    ],
  },
  {
    title: 'the table of another type that moves away',
    before: { Book: book, Note: 'type: Note\nfields: { text: { type: string } }' },
    records: [...ONE, ['notes', { text: 'x' }]],
    after: { Book: `${book}table: notes`, Note: 'type: Note\ntable: remarks\nfields: { text: { type: string } }' },
    steps: [],
    reads: ['GET /api/books => [{"id":1,"title":"One"}]', 'GET /api/notes => [{"id":1,"text":"x"}]'],
  },
  {
    title: 'a type that opens',
    before: { Thing: 'type: Thing\nfields:\n  code: { type: string }' },
    records: ['things {"code":"a"}'],
    after: { Thing: open() },
    steps: ['ready open-type:Thing'],
    reads: ['PUT /api/things/1 {"size": 3} => {"id":1,"code":"a","size":3}'],
  },
  {
    title: 'a type that closes loses its open keys, apart from those that are fields now',
    before: { Thing: open() },
    records: ['things {"code":"a","size":3}', 'things {"code":"b","size":4,"color":"red"}', 'things {}'],
    after: { Thing: 'type: Thing\nfields:\n  code: { type: string }\n  size: { type: integer }' },
    steps: ['ready add-field:Thing.size', 'kept close-type:Thing'],
    says: ['1 record: the open keys are lost (2)'],
    reads: [
      'GET /api/things => [{"id":1,"code":"a","size":3},{"id":2,"code":"b","size":4},{"id":3,"code":null,"size":null}]',
    ],
  },
  {
    title: 'fields of an open type take over the values of its keys',
    before: { Thing: open() },
    records: [
      'things {"size":3,"price":"1.50","on":true,"tags":["é",1.5],"ratio":0.1,"any":null,"name":"n","kept":{"b":1,"a":[2]}}',
      'things {"kept":1}',
      'things {"size":null,"any":{"z":1,"a":2}}',
    ],
    after: {
      Thing: open(
        '  size: { type: integer, index: true }',
        '  price: { type: decimal, scale: 2, default: "0" }',
        '  on: { type: boolean, default: false }',
        '  tags: { type: array }',
        '  ratio: { type: number }',
        '  any: { type: any }',
        '  name: { type: string, unique: true }',
      ),
    },
    steps: [
      ...['size', 'price', 'on', 'tags', 'ratio', 'any', 'name'].map((name) => `ready add-field:Thing.${name}`),
      'ready add-unique:Thing.name',
      'ready add-index:Thing.size',
    ],
    reads: [
      `GET /api/things => [
        {"id":1,"code":null,"size":3,"price":"1.50","on":true,"tags":["é",1.5],"ratio":0.1,"any":null,"name":"n","kept":{"b":1,"a":[2]}},
        {"id":2,"code":null,"size":null,"price":"0","on":false,"tags":null,"ratio":null,"any":null,"name":null,"kept":1},
        {"id":3,"code":null,"size":null,"price":"0","on":false,"tags":null,"ratio":null,"any":{"z":1,"a":2},"name":null}]`,
      ['GET /api/things?_cnd[size]=3&fields=size', [{ id: 1, size: 3 }]],
      ['PATCH /api/things/1 {"kept": null, "size": 4}', expect.not.objectContaining({ kept: expect.anything() })],
    ],
  },
  {
    title: 'a required field of an open type whose key every record has',
    before: { Thing: open() },
    records: ['things {"size":3}', 'things {"size":4}'],
    after: { Thing: open('  size: { type: integer, required: true }') },
    steps: ['allow add-required-field:Thing.size'],
    reads: ['GET /api/things => [{"id":1,"code":null,"size":3},{"id":2,"code":null,"size":4}]'],
  },
  {
    title: 'open keys that are not what the field wants stand in the way',
    before: { Thing: open() },
    records: ['things {"size":"large"}', 'things {"size":4}', 'things {"size":1.5}', 'things {}'],
    after: { Thing: open('  size: { type: integer, minimum: 0, maximum: 9 }') },
    steps: ['blocked add-field:Thing.size'],
    says: ['2 records: the open key "size" is not an integer from 0 to 9 (1, 3)'],
    impossible: true,
  },
];
