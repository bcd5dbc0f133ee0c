/** Records to try the studio with, in an empty database: made of the examples and the limits of each field. */
import {
  identifierOf,
  identifierValue,
  type FieldInfo,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
} from '../data/model.ts';
import { isValueObject, NumberText, parseJson, type Value, type ValueObject } from '../data/json.ts';
import { isWritable } from '../presentations/field-draft.ts';

const COUNT = 12;
const DAY_MS = 86_400_000;

type Post = (target: string, body: Value) => Promise<Value>;

/** Types that others need come first; records that cannot be made are left out. */
export async function makeSamples(
  { types: all }: StudioModel,
  types: readonly TypeInfo[],
  post: Post,
): Promise<number> {
  const made = new Map<string, readonly string[]>();
  let count = 0;
  for (const type of inOrder(types)) {
    const ids: string[] = [];
    for (let index = 0; index < COUNT; index += 1) {
      const body = sampleOf(type, index, made, (name) => all.get(name));
      if (body === undefined) break;
      // Rules that a descriptor cannot say here may refuse one of them.
      const stored = await post(type.path, body).catch((error: unknown) =>
        index === 0 ? Promise.reject(error) : null,
      );
      if (isValueObject(stored)) ids.push(identifierOf(type, stored));
    }
    count += ids.length;
    made.set(type.type, ids);
  }
  return count;
}

const linksOf = ({ relations }: TypeInfo): readonly RelationInfo[] =>
  relations.filter((relation) => relation.kind === 'belongsTo' && !relation.readOnly);

/** Sorts types so that each comes after the types it requires. */
export function inOrder(types: readonly TypeInfo[]): readonly TypeInfo[] {
  const rest = [...types];
  const ordered: TypeInfo[] = [];
  while (rest.length > 0) {
    const isLast = (type: TypeInfo, isStrict: boolean): boolean =>
      linksOf(type).some(
        (link) =>
          link.type !== type.type && (isStrict || link.required === true) && rest.some((one) => one.type === link.type),
      );
    const next = rest.find((type) => !isLast(type, true)) ?? rest.find((type) => !isLast(type, false)) ?? rest[0];
    if (next === undefined) break;
    ordered.push(next);
    rest.splice(rest.indexOf(next), 1);
  }
  return ordered;
}

/** Undefined: there is nothing that its relations or patterns take. */
export function sampleOf(
  type: TypeInfo,
  index: number,
  made: ReadonlyMap<string, readonly string[]>,
  typeFor: (type: string) => TypeInfo | undefined,
): ValueObject | undefined {
  const body: Record<string, Value> = {};
  for (const field of type.fields.filter(isWritable)) {
    const value = valueFor(type, field, index);
    if (value !== undefined) body[field.name] = value;
    else if (field.required === true) return undefined;
  }
  for (const relation of linksOf(type)) {
    const ids = made.get(relation.type) ?? [];
    const id = ids[(index * 7) % Math.max(ids.length, 1)];
    const target = typeFor(relation.type);
    if (id !== undefined && target) body[relation.name] = { [target.identifier.name]: identifierValue(target, id) };
    else if (relation.required === true) return undefined;
  }
  return body;
}

/** Undefined: left to the service. */
function valueFor({ title }: TypeInfo, field: FieldInfo, index: number): Value | undefined {
  const { type, examples, enum: values, format, pattern } = field;
  if (values !== undefined && type === 'string') return values[index % values.length];
  const example = examples[index % Math.max(examples.length, 1)];
  const isUnique = field.unique === true;
  if (example !== undefined && (!isUnique || index < examples.length)) return parseJson(JSON.stringify(example));
  const number = Math.max(Number(field.minimum ?? 1), 1) + index * 3;
  const isInside = field.maximum === undefined || number <= Number(field.maximum);
  const day = new Date(Date.now() - index * 9 * DAY_MS).toISOString();
  if (type === 'boolean') return index % 3 !== 0;
  if (type === 'integer') return isInside ? new NumberText(String(number)) : undefined;
  if (type === 'decimal') return isInside ? `${number}${field.scale ? '.5' : ''}` : undefined;
  if (type === 'date') return day.slice(0, 10);
  if (type === 'timestamp') return day;
  if (type !== 'string' || pattern !== undefined) return undefined;
  if (format === 'email') return `sample${index + 1}@example.com`;
  if (format === 'uri') return `https://example.com/${index + 1}`;
  if (format !== undefined) return undefined;
  const text = `${title.one} ${index + 1}`;
  return text.length >= (field.minLength ?? 0) && text.length <= (field.maxLength ?? text.length) ? text : undefined;
}
