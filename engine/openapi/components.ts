/** The components of a document: each is made when it is first referred to, under a name that generated clients can use. */
import { isObject, type JsonObject } from '../json/json.ts';
import { simpleSchema, simpleSchemas } from './simple.ts';

type Section = 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples';

export interface Components {
  /** Whether the document is for generators that know less (`?profile=simple`). */
  readonly isSimple: boolean;
  /** A name for a thing that is unique among the things of its kind: the wanted one in ASCII, with a number if it is taken. */
  nameOf(kind: string, thing: string, wanted: string): string;
  /** A reference to the component for a thing. */
  use(section: Section, thing: string, wanted: string, make: () => JsonObject): JsonObject;
  /** All components of a document with these paths, by section. */
  all(paths: JsonObject): JsonObject;
}

export function createComponents(isSimple: boolean): Components {
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
    nameOf,
    use: (section, thing, wanted, make) => {
      const name = nameOf(section, thing, wanted);
      const known = made.get(section) ?? new Map<string, JsonObject>();
      made.set(section, known);
      if (!known.has(name)) {
        // Schemas may refer to themselves while they are made.
        known.set(name, {});
        const { schema, ...rest } = make();
        known.set(
          name,
          schema === undefined
            ? rest
            : { ...rest, schema: isSimple && isObject(schema) ? simpleSchema(schema) : schema },
        );
      }
      return { $ref: `#/components/${section}/${name}` };
    },
    all: (paths) => {
      const all = Object.fromEntries([...made].map(([section, known]) => [section, Object.fromEntries(known)]));
      if (!isSimple) return all;
      const { schemas = {}, responses = {}, examples: _, ...others } = all;
      return { ...others, responses, schemas: simpleSchemas(schemas, { paths, responses }) };
    },
  };
}

/** Drops accents and replaces other letters by their code points: generated clients use these names as identifiers. */
const ascii = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\w-]/gu, (letter) => `x${letter.codePointAt(0)?.toString(16) ?? ''}`);

// Parts of schemas.

/** No client can keep larger integers in a number. */
export const integers = (minimum: number, maximum = Number.MAX_SAFE_INTEGER): JsonObject => ({
  type: 'integer',
  format: 'int64',
  minimum,
  maximum,
});

export const arrayOf = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });

export const described = (description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  description,
  ...schema,
});
