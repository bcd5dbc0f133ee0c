/** The names in the document: ASCII, unique, and the same for the same Model. */
import { capitalized, defaultPath, snakeCase } from '../names.ts';
import type { RecordType, Relation } from '../model/model.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { relatedDemand } from '../model/bodies.ts';

export interface SchemaNames {
  /** A record at its own path, with its relations. */
  record(type: RecordType): string;
  /** A record inside another one, without its relations. */
  related(relation: Relation): string;
  /** A body that changes a record. */
  input(type: RecordType): string;
  /** A related record in a body. */
  nestedInput(relation: Relation): string;
  /** A body that creates a record. */
  creation(type: RecordType): string;
  /** An item of an array that changes records. */
  item(type: RecordType): string;
  /** The operators of a filter; equal ones have the same name. */
  filter(kind: string, schema: JsonObject): string;
  /** The response of an update. */
  updated(type: RecordType): string;
  /** The example of a record, or of a list of one. */
  example(type: RecordType, kind: 'Record' | 'Records'): string;
  /** A parameter that several operations of the type take. */
  parameter(type: RecordType, name: string): string;
  /** `BookShelf` */
  one(type: RecordType): string;
  /** `BookShelves` */
  many(type: RecordType): string;
}

/** Names of the schemas that every document has. */
const RESERVED = [
  'Problem',
  'Fault',
  'RecordName',
  'DryRun',
  'DryRunEffect',
  'SummaryGroup',
  'ItemTag',
  'RecordLines',
  'RecordTable',
  'GroupLines',
  'GroupTable',
  'LinesBody',
  'TableBody',
];

export function createNames(): SchemaNames {
  const nameOf = namer(RESERVED);
  const [oneOf, manyOf, parameterOf, responseOf, exampleOf] = [namer(), namer(), namer(), namer(), namer()];
  const shared = ({ fields, target }: Relation): boolean => fields.length === target.fields.size;
  const owner = ({ source, name }: Relation): string => source.name + name.split('_').map(capitalized).join('');
  return {
    record: ({ name }) => nameOf(`record ${name}`, name),
    related: (relation) =>
      shared(relation)
        ? nameOf(`related ${relation.target.name}`, `Related${relation.target.name}`)
        : nameOf(`related ${relation.source.name}.${relation.name}`, `Related${owner(relation)}`),
    input: ({ name }) => nameOf(`input ${name}`, `${name}Input`),
    nestedInput: (relation) => {
      const { target, source, name } = relation;
      const demand = relatedDemand(relation);
      if (demand === 'link') return nameOf(`link ${target.name}`, `Linked${target.name}`);
      if (demand === 'nothing' && shared(relation) && relation.inverse === undefined)
        return nameOf(`input ${target.name}`, `${target.name}Input`);
      return nameOf(`input ${source.name}.${name}`, `${owner(relation)}Input`);
    },
    creation: ({ name }) => nameOf(`creation ${name}`, `New${name}`),
    item: ({ name }) => nameOf(`item ${name}`, `Changed${name}`),
    filter: (kind, schema) => nameOf(`filter ${JSON.stringify(schema)}`, `${kind}Filter`),
    updated: ({ name }) => responseOf(name, `Updated${capitalized(name)}`),
    example: ({ name }, kind) => exampleOf(`${name} ${kind}`, `${name}${kind}`),
    parameter: ({ name }, parameter) => {
      const [, filter] = /^_cnd\[(.*)\]$/.exec(parameter) ?? [];
      const wanted = filter === undefined ? `${name}_${parameter}` : `${name}Filter_${filter}`;
      return parameterOf(`${name} ${parameter}`, wanted);
    },
    one: ({ name }) => oneOf(name, capitalized(name)),
    many: ({ name }) => manyOf(name, defaultPath(name).split('-').map(capitalized).join('')),
  };
}

/** Assigns each thing a unique name on first use. */
function namer(reserved: readonly string[] = []): (thing: string, wanted: string) => string {
  const known = new Map<string, string>();
  const taken = new Set(reserved);
  return (thing, wanted) => {
    const name = known.get(thing) ?? free(ascii(wanted), taken);
    known.set(thing, name);
    taken.add(name);
    return name;
  };
}

/** The wanted name, or with a number if it is taken. */
export function free(wanted: string, taken: { has(name: string): boolean }): string {
  if (!taken.has(wanted)) return wanted;
  let number = 2;
  while (taken.has(`${wanted}_${number}`)) number += 1;
  return `${wanted}_${number}`;
}

/** Drops accents and replaces other letters by their code points: generated clients use these names as identifiers. */
const ascii = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\w]/gu, (letter) => `x${letter.codePointAt(0)?.toString(16) ?? ''}`);

/** `book shelf`, for sentences. */
export const oneInWords = ({ name }: RecordType): string => snakeCase(name).replaceAll('_', ' ');
/** `book shelves`, for sentences. */
export const manyInWords = ({ name }: RecordType): string => defaultPath(name).replaceAll('-', ' ');

// References within the document.

/** A number of things, or any other integer; no client can keep longer ones in a number. */
export const integers = (minimum: number, maximum = Number.MAX_SAFE_INTEGER): JsonObject => ({
  type: 'integer',
  format: 'int64',
  minimum,
  maximum,
});

type ComponentKind = 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples';

export type Components = Readonly<Record<ComponentKind, JsonObject>>;

export const arrayOf = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });

/** A record, or an array of them. */
export const oneOrMany = (one: JsonObject): JsonObject => ({ oneOf: [one, arrayOf(one)] });

export const ref = (section: ComponentKind, name: string): JsonObject => ({ $ref: `#/components/${section}/${name}` });

const REFERENCE = /^#\/components\/(\w+)\/([\w.-]+)$/;

/** The components that `root` refers to, directly or through others. */
export function needed(root: JsonValue, components: Components): JsonObject {
  const found = new Map<string, Set<string>>();
  const queue: JsonValue[] = [root];
  for (const value of queue) {
    if (Array.isArray(value)) for (const one of value) queue.push(one);
    if (!isObject(value)) continue;
    for (const one of Object.values(value)) queue.push(one);
    const [, section = '', name = ''] = REFERENCE.exec(String(value['$ref'] ?? '')) ?? [];
    if (section === '' || found.get(section)?.has(name)) continue;
    found.set(section, (found.get(section) ?? new Set()).add(name));
    queue.push(component(components, section, name));
  }
  return kept(components, found);
}

function component(components: Components, section: string, name: string): JsonValue {
  const value = new Map(Object.entries(components)).get(section)?.[name];
  if (value === undefined) throw new Error(`the document has no component ${section}/${name}`);
  return value;
}

function kept(components: Components, found: ReadonlyMap<string, ReadonlySet<string>>): JsonObject {
  const sections = Object.entries(components).map(([section, all]) => {
    const entries = Object.entries(all).filter(([name]) => found.get(section)?.has(name));
    return [section, Object.fromEntries(entries)] as const;
  });
  return Object.fromEntries(sections.filter(([, entries]) => Object.keys(entries).length > 0));
}
