/** The components of an OpenAPI document, created at the first reference. */
import { isObject, type JsonObject, type JsonValue, withoutUndefined } from '../json/json.ts';
import type { Turns } from '../memo.ts';
import type { RecordType } from '../model/model.ts';

type Section = 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples';

export interface Components {
  /** `?profile=simple`, for generators. */
  readonly isSimple: boolean;
  /** The schema of identifiers of any of the types. */
  readonly identifier: JsonObject;
  /** The wanted name in ASCII, with a number if another thing of the kind has it. */
  nameOf(kind: string, thing: string, wanted: string): string;
  use(section: Section, thing: string, wanted: string, make: () => JsonObject): JsonObject;
  /** The paths and the components that they use, in the form of the profile. */
  withPaths(paths: JsonObject): Turns<{ readonly paths: JsonObject; readonly components: JsonObject }>;
}

export function createComponents(isSimple: boolean, types: Iterable<RecordType>): Components {
  const identifier = [...types].every((type) => type.identifier.kind.isCounted)
    ? integers(1)
    : { anyOf: [integers(1), { type: 'string' }] };
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const made = new Map<Section, Map<string, JsonObject>>();
  const nameOf = (kind: string, thing: string, wanted: string): string => {
    const known = names.get(`${kind} ${thing}`);
    if (known !== undefined) return known;
    const first = ascii(wanted);
    let name = first;
    for (let number = 2; taken.has(`${kind} ${name}`); number += 1) name = `${first}_${number}`;
    names.set(`${kind} ${thing}`, name);
    taken.add(`${kind} ${name}`);
    return name;
  };
  return {
    isSimple,
    identifier,
    nameOf,
    use: (section, thing, wanted, make) => {
      const name = nameOf(section, thing, wanted);
      const known = made.get(section) ?? new Map<string, JsonObject>();
      made.set(section, known);
      if (!known.has(name)) {
        // `make` may refer to its own schema.
        known.set(name, {});
        known.set(name, make());
      }
      return { $ref: `#/components/${section}/${name}` };
    },
    *withPaths(paths) {
      const all = Object.fromEntries([...made].map(([section, known]) => [section, Object.fromEntries(known)]));
      if (!isSimple) return { paths, components: all };
      const { schemas = {}, examples: _, ...others } = all;
      const components = simplified(others);
      const referred = new Set(namesIn(components));
      const simplePaths: Record<string, JsonValue> = {};
      for (const [path, methods] of Object.entries(paths)) {
        yield;
        const simple = simplified(membersOf(methods));
        simplePaths[path] = simple;
        for (const name of namesIn(simple)) referred.add(name);
      }
      return { paths: simplePaths, components: { ...components, schemas: yield* simpleSchemas(schemas, referred) } };
    },
  };
}

/** Generated clients use these names as identifiers. */
const ascii = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\w-]/gu, (letter) => `x${letter.codePointAt(0)?.toString(16) ?? ''}`);

/** Doubles cannot represent all larger integers. */
export const integers = (minimum: number, maximum = Number.MAX_SAFE_INTEGER): JsonObject => ({
  type: 'integer',
  format: 'int64',
  minimum,
  maximum,
});

export const arrayOf = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });

/** The schema of a type's identifiers, in one form that generators understand. */
export function identifierValue({ identifier }: RecordType, maximum?: number): JsonObject {
  const { allOf: _, ...schema } = identifier.kind.schema(identifier, maximum);
  return identifier.kind.isCounted ? integers(1, maximum) : schema;
}

export const described = (description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  description,
  ...schema,
});

// The simple profile: OpenAPI 3.0 has neither a type "null" nor lists of types, and generators fail on recursion.

const membersOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});
const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const mapped = (members: JsonObject, change: (value: JsonValue, key: string) => JsonValue | undefined): JsonObject =>
  withoutUndefined(Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value, name)])));

const REFERENCE = '#/components/schemas/';
/** 3.0 cannot make a reference nullable: the nullable schema has its own name. */
const OR_NULL = 'OrNull';

/** Converts each `schema` in a part of a document to 3.0. */
const simplified = (part: JsonObject): JsonObject =>
  mapped(part, (value, key) => {
    if (key === 'schema') return simpleSchema(membersOf(value));
    if (Array.isArray(value)) return value.map((item: JsonValue) => (isObject(item) ? simplified(item) : item));
    return isObject(value) ? simplified(value) : value;
  });

function simpleSchema(schema: JsonObject): JsonObject {
  const { $ref, type, examples, const: constant, oneOf, anyOf, properties, items, ...others } = schema;
  const { not: _, propertyNames: __, additionalProperties, default: fallback, description, ...rest } = others;
  // Generators would require properties with a `default`.
  const byDefault = fallback === undefined ? [] : [`Default: \`${JSON.stringify(fallback)}\`.`];
  const text = [...(description === undefined ? [] : [description]), ...byDefault].join(' ');
  const [example] = listOf(examples);
  const common = withoutUndefined({
    description: text || undefined,
    ...rest,
    ...(constant === undefined ? {} : { enum: [constant] }),
    example,
    additionalProperties: isObject(additionalProperties) ? simpleSchema(additionalProperties) : additionalProperties,
  });
  if ($ref !== undefined) return Object.keys(common).length === 0 ? { $ref } : { ...common, allOf: [{ $ref }] };
  // Of one record or an array, the simple form is one record.
  const [one] = listOf(oneOf).map(membersOf);
  if (one !== undefined && '$ref' in one) return simpleSchema(one);
  // A related record or null: some tools look for null here, others in the referenced schema.
  const [related, ...more] = listOf(anyOf).map(membersOf);
  if (related !== undefined && more.some((other) => other['type'] === 'null'))
    return { type: 'object', nullable: true, ...common, allOf: [{ $ref: `${String(related['$ref'])}${OR_NULL}` }] };
  const all = [type ?? []].flat();
  const types = all.filter((other) => other !== 'null');
  const isArray = items !== undefined && (type === undefined || String(types) === 'array');
  return withoutUndefined({
    type: types.length === 1 ? types[0] : undefined,
    nullable: all.includes('null') || undefined,
    ...common,
    properties: properties && mapped(membersOf(properties), simpleProperty),
    items: isArray ? simpleSchema(membersOf(items)) : undefined,
  });
}

const simpleProperty = (schema: JsonValue): JsonObject | undefined =>
  JSON.stringify(schema) === '{"not":{}}' ? undefined : simpleSchema(membersOf(schema));

/** The schemas that `users` name, without properties that refer to an enclosing schema. */
function* simpleSchemas(schemas: JsonObject, users: Iterable<string>): Turns<JsonObject> {
  const done = new Map<string, JsonObject>();
  const open = new Set<string>();
  const schemaOf = (name: string): JsonObject => {
    const known = schemas[name];
    if (known !== undefined) return simpleSchema(membersOf(known));
    return { ...schemaOf(name.slice(0, -OR_NULL.length)), nullable: true };
  };
  function* visit(name: string): Turns<void> {
    yield;
    open.add(name);
    const { required, properties, ...rest } = schemaOf(name);
    const kept: Record<string, JsonValue> = {};
    for (const [key, value] of Object.entries(membersOf(properties))) {
      const referred = namesIn(value);
      if (referred.some((one) => open.has(one))) continue;
      for (const one of referred) if (!done.has(one)) yield* visit(one);
      kept[key] = value;
    }
    const left = listOf(required).filter((key) => String(key) in kept);
    done.set(
      name,
      withoutUndefined({
        ...rest,
        required: left.length > 0 ? left : undefined,
        properties: properties && kept,
      }),
    );
    open.delete(name);
  }
  for (const name of users) if (!done.has(name)) yield* visit(name);
  return Object.fromEntries(done);
}

const namesIn = (value: JsonValue): readonly string[] =>
  [...JSON.stringify(value).matchAll(new RegExp(`"${REFERENCE}([^"]+)"`, 'g'))].map(([, name = '']) => name);
