/** Which presentation a field has. Words of the descriptor, once it has some, are looked at first, here and nowhere else. */
import type { FieldInfo } from '../data/model.ts';
import { isJson } from './field-draft.ts';

const BY_TYPE = {
  string: 'text',
  integer: 'number',
  number: 'number',
  decimal: 'number',
  boolean: 'flag',
  date: 'date',
  timestamp: 'timestamp',
} as const;

const BY_SHOWS = { time: 'seconds', url: 'link', image: 'image', color: 'color', markdown: 'markdown' } as const;

const BY_FORMAT = { email: 'link', uri: 'link' } as const;

export type PresentationName =
  | 'choice'
  | 'list'
  | 'json'
  | (typeof BY_TYPE)[keyof typeof BY_TYPE]
  | (typeof BY_FORMAT)[keyof typeof BY_FORMAT]
  | (typeof BY_SHOWS)[keyof typeof BY_SHOWS];

const has = <T extends object>(table: T, key: string): key is Extract<keyof T, string> => Object.hasOwn(table, key);

/** A field type that is not known is shown as JSON. */
export function presentationName(field: FieldInfo): PresentationName {
  const { type, format = '', shows = '' } = field;
  if (typeof shows === 'string' && has(BY_SHOWS, shows)) return BY_SHOWS[shows];
  if (field.enum !== undefined && type !== 'boolean' && type !== 'array') return 'choice';
  if (itemOf(field) !== undefined) return 'list';
  if (type === 'string' && has(BY_FORMAT, format)) return BY_FORMAT[format];
  return has(BY_TYPE, type) ? BY_TYPE[type] : 'json';
}

/** The field of an array's items; undefined if the array is written as JSON. */
export function itemOf({ type, items, title, name }: FieldInfo): FieldInfo | undefined {
  if (type !== 'array' || items === undefined) return undefined;
  const item: FieldInfo = { examples: [], operators: [], isOrderIndexed: false, ...items, title, name };
  return isJson(item) || item.type === 'boolean' ? undefined : item;
}

/** Percentages and points in time have no sum. */
export const isSummable = ({ shows }: FieldInfo): boolean => shows !== 'percent' && shows !== 'time';

/** Numbers stand below each other by their digits. */
export const isRight = (field: FieldInfo): boolean => presentationName(field) === 'number';

/** Whether an input takes a line of its own. */
export const isWide = (field: FieldInfo): boolean =>
  field.multiline === true || field.shows === 'markdown' || ['list', 'json'].includes(presentationName(field));
