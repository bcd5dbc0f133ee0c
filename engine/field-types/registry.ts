/** The field types by the name that descriptors use. A new type needs a file of its own and a line here. */
import { any } from './any.ts';
import { array } from './array.ts';
import { boolean } from './boolean.ts';
import { date } from './date.ts';
import { decimal } from './decimal.ts';
import type { FieldType } from './field-type.ts';
import { integer } from './integer.ts';
import { number } from './number.ts';
import { string } from './string.ts';
import { timestamp } from './timestamp.ts';

export const fieldTypes: ReadonlyMap<string, FieldType> = new Map(
  [string, integer, number, boolean, decimal, date, timestamp, array, any].map((type) => [
    type.name,
    Object.freeze(type),
  ]),
);
