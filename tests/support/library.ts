/** A library of books to ask questions about, and what the answers look like in short. */
import type { Descriptor } from '../../engine/descriptor/descriptor.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { resolveModel } from '../../engine/model/resolve.ts';
import { Problem } from '../../engine/problem.ts';
import type { Filter, ListQuery, OrderBy, View } from '../../engine/query/list-query.ts';
import { ALL_RIGHTS } from '../../engine/model/rights.ts';
import { createQueryResolver } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings/settings.ts';

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
  {
    type: 'Loan',
    fields: {
      state: { type: 'string', enum: ['open', 'closed', 'null and void'] },
      period: { type: 'integer', enum: [7, 14, 28] },
      card: { type: 'string', enum: ['Gold', 'Silver'], caseless: true },
      reason: { type: 'string', enum: ['lost', 'torn', 'lost, torn'] },
      secret: { type: 'string', enum: ['red', 'blue'], sensitive: true },
      note: { type: 'string' },
      code: { type: 'string', default: '' },
    },
    relations: { book: { kind: 'belongsTo', type: 'Book' } },
  },
];

const model = resolveModel(descriptors);
const queriesOf = createQueryResolver(readSettings({}));

export function typeOf(name: string): RecordType {
  const type = model.types.get(name);
  if (!type) throw new Error(`no type ${name}`);
  return type;
}

const book = typeOf('Book');
export const list = (search: string, type = book): ListQuery => queriesOf(type, ALL_RIGHTS).list(search);
export const view = (search: string, type = book): View => queriesOf(type, ALL_RIGHTS).view(search);

/** `title desc, book_id desc` */
export const orderText = (order: readonly OrderBy[]): string =>
  order.map(({ path, descending }) => `${path.name}${descending ? ' desc' : ''}`).join(', ');

/** `title eq "a"`, `any(title eq "a"; pages gt 1)`, `books some(title eq "a", pages gt 1)`, `books count gte 3`. */
export function filterText(condition: Filter): string {
  const all = (conditions: readonly Filter[]): string => conditions.map(filterText).join(', ');
  if ('items' in condition) return `${condition.kind}(${condition.items.map(all).join('; ')})`;
  const { kind, path } = condition;
  if ('conditions' in condition) return `${path.name} ${kind}(${all(condition.conditions)})`;
  const compared = `${condition.operator} ${JSON.stringify(condition.value)}`;
  return kind === 'count' ? `${path.name} count ${compared}` : `${path.name} ${compared}`;
}

/** `book_id title author(author_id name)`, `…` for the open keys. */
export function viewText({ type, fields, openKeys, relations }: View): string {
  const inner = relations.map(({ relation, view: related }) => `${relation.name}(${viewText(related)})`);
  return [type.identifier.name, ...fields.map(({ name }) => name), ...(openKeys ? ['…'] : []), ...inner].join(' ');
}

/** `parameter: code` of each fault. */
export function faultsOf(action: () => unknown): readonly string[] {
  const { code, status, errors } = problemOf(action);
  expect([code, status]).toEqual(['invalid-query', 400]);
  return errors.map((fault) => `${'parameter' in fault ? fault.parameter : '?'}: ${fault.code}`);
}

export function problemOf(action: () => unknown): Problem {
  try {
    action();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
