/** The field types by the name that descriptors use. A new type needs a file of its own and a line here. */
import { anyType } from './any.ts';
import { arrayType } from './array.ts';
import { boolean } from './boolean.ts';
import { date } from './date.ts';
import { decimal } from './decimal.ts';
import type { FieldType } from './field-type.ts';
import { integer } from './integer.ts';
import { number } from './number.ts';
import { string } from './string.ts';
import { timestamp } from './timestamp.ts';
import { uuid } from './uuid.ts';

const scalars = [string, integer, number, boolean, decimal, date, timestamp, uuid];
const any = anyType(scalars);
const array = arrayType([...scalars, any]);

export const fieldTypes: ReadonlyMap<string, FieldType> = new Map(
  [...scalars, array, any].map((type) => [type.name, Object.freeze(type)]),
);
