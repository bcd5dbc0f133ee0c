/** What the document calls things: in ASCII, each name once, and the same for the same Model. */
import { defaultPath, snakeCase } from '../names.ts';
import type { RecordType, Relation } from '../model/model.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { nestedDemand } from '../model/bodies.ts';

export interface SchemaNames {
  /** A record as lists and requests to one record show it. */
  record(type: RecordType): string;
  /** A record as other records show it: without its relations. */
  related(relation: Relation): string;
  /** What a change may say of a record. */
  input(type: RecordType): string;
  /** What a change may say of a record that a relation leads to. */
  nestedInput(relation: Relation): string;
  /** What is sent to make a record. */
  creation(type: RecordType): string;
  /** `BookShelf` */
  one(type: RecordType): string;
  /** `BookShelves` */
  many(type: RecordType): string;
}

/** Schemas that every document has. */
const RESERVED = ['Problem', 'Fault'];

export function createNames(): SchemaNames {
  const nameOf = namer(RESERVED);
  const [oneOf, manyOf] = [namer([]), namer([])];
  const shared = ({ fields, target }: Relation): boolean => fields.length === target.fields.size;
  const owner = ({ source, name }: Relation): string => source.name + capitalized(name);
  return {
    record: ({ name }) => nameOf(`record ${name}`, name),
    related: (relation) =>
      shared(relation)
        ? nameOf(`related ${relation.target.name}`, `Related${relation.target.name}`)
        : nameOf(`related ${relation.source.name}.${relation.name}`, `Related${owner(relation)}`),
    input: ({ name }) => nameOf(`input ${name}`, `${name}Input`),
    nestedInput: (relation) => {
      const { target, source, name } = relation;
      const demand = shared(relation) ? nestedDemand(relation) : [];
      if (demand === 'nothing') return nameOf(`input ${target.name}`, `${target.name}Input`);
      if (demand === 'link') return nameOf(`link ${target.name}`, `Linked${target.name}`);
      return nameOf(`input ${source.name}.${name}`, `${owner(relation)}Input`);
    },
    creation: ({ name }) => nameOf(`creation ${name}`, `New${name}`),
    one: ({ name }) => oneOf(name, capitalized(name)),
    many: ({ name }) => manyOf(name, defaultPath(name).split('-').map(capitalized).join('')),
  };
}

/** Gives each thing a name, when it is asked for first. */
function namer(reserved: readonly string[]): (thing: string, wanted: string) => string {
  const known = new Map<string, string>();
  const taken = new Set(reserved);
  return (thing, wanted) => {
    const name = known.get(thing) ?? free(ascii(wanted), taken);
    known.set(thing, name);
    taken.add(name);
    return name;
  };
}

/** A name that nothing else has. */
export function free(wanted: string, taken: { has(name: string): boolean }): string {
  if (!taken.has(wanted)) return wanted;
  let number = 2;
  while (taken.has(`${wanted}_${number}`)) number += 1;
  return `${wanted}_${number}`;
}

/** Marks are dropped, other letters become their code points: generated clients make identifiers of these names. */
const ascii = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\w]/gu, (letter) => `x${letter.codePointAt(0)?.toString(16) ?? ''}`);

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** `book shelf`, for sentences. */
export const oneInWords = ({ name }: RecordType): string => snakeCase(name).replaceAll('_', ' ');
/** `book shelves`, for sentences. */
export const manyInWords = ({ name }: RecordType): string => defaultPath(name).replaceAll('-', ' ');

// References inside of the document.

type ComponentKind = 'schemas' | 'parameters' | 'headers' | 'responses' | 'requestBodies' | 'examples';

export type Components = Readonly<Record<ComponentKind, JsonObject>>;

export const ref = (section: ComponentKind, name: string): JsonObject => ({ $ref: `#/components/${section}/${name}` });

const REFERENCE = /^#\/components\/(\w+)\/([\w.-]+)$/;

/** The components that `root` needs, directly or through others: what nothing refers to is left out. */
export function needed(root: JsonValue, components: Components): JsonObject {
  const found = new Map<string, Set<string>>();
  const queue: JsonValue[] = [root];
  for (const value of queue) {
    if (Array.isArray(value)) queue.push(...value);
    if (!isObject(value)) continue;
    queue.push(...Object.values(value));
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
