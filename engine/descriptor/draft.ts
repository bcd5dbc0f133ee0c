/** Descriptors without their faulty parts: checks across files see faulty files too. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../json/json.ts';
import { nearest } from '../names.ts';
import {
  type Descriptor,
  type FieldDescriptor,
  identifierName,
  type Operation,
  operationsOf,
  type Pairing,
  pairUp,
  type RelationDescriptor,
} from './descriptor.ts';
import type { Finding } from './report.ts';
import { grammar } from './grammar.ts';
import type { Placing, YamlPath } from './source.ts';
import { createAjv } from '../field-types/ajv-keywords.ts';

export type FieldDraft = Partial<FieldDescriptor>;
type RelationDraft = Partial<RelationDescriptor>;

interface DescriptorDraft extends Partial<Omit<Descriptor, 'fields' | 'relations' | 'variants'>> {
  readonly fields?: Readonly<Record<string, FieldDraft>>;
  readonly relations?: Readonly<Record<string, RelationDraft>>;
  readonly variants?: Partial<NonNullable<Descriptor['variants']>>;
}

export interface TypeDraft {
  readonly where: Placing;
  readonly name: string;
  readonly draft: DescriptorDraft;
  /** No fault hides names of fields or relations. */
  readonly complete: boolean;
  /** Keys of the descriptor whose values were faulty. */
  readonly lost: ReadonlySet<string>;
  readonly identifier: string;
  readonly fields: ReadonlyMap<string, FieldDraft>;
  readonly relations: ReadonlyMap<string, RelationDraft>;
  readonly operations: ReadonlySet<Operation> | undefined;
}

/** Faults that leave the value usable. */
const HARMLESS: ReadonlySet<string> = new Set(['bad-name', 'reserved-name', 'missing-key', 'repeated-item']);
const NAMING_KEYS: ReadonlySet<string> = new Set(['fields', 'relations', 'identifier']);
const KEYS = Object.keys(grammar.properties);

/** `findings`: the faults that the grammar found. */
export function draftOf(where: Placing, value: JsonValue, findings: readonly Finding[]): TypeDraft {
  const harmful = findings.filter(({ code }) => !HARMLESS.has(code));
  const faulty = harmful.map(({ path }) => wholeList(path));
  const pruned = prune(value, new Set(faulty.map(pointer)), []);
  const draft: DescriptorDraft = isObject(pruned) ? pruned : {};
  const lost = new Set(faulty.filter(({ length }) => length === 1).map(([key]) => String(key)));
  return {
    where,
    name: draft.type ?? '',
    draft,
    complete: isObject(value) && !harmful.some((one) => hidesNames(one, value)),
    lost,
    identifier: identifierName(draft),
    fields: new Map(Object.entries(draft.fields ?? {})),
    relations: new Map(Object.entries(draft.relations ?? {})),
    operations: lost.has('operations') ? undefined : operationsOf(draft),
  };
}

/** A type of which only the name is known. */
export function unreadable(where: Placing, name: string): TypeDraft {
  return { ...draftOf(where, { type: name }, []), complete: false, operations: undefined };
}

/** A section may be misspelt, or a name in the wrong section. */
function hidesNames({ code, path }: Finding, value: JsonObject): boolean {
  const [section, name] = path;
  if (section === 'identifier') return true;
  if (name !== undefined || typeof section !== 'string') return code === 'misplaced-key' && path.length === 2;
  return NAMING_KEYS.has(nearest(section, KEYS) ?? '') || (code === 'unknown-key' && isObject(value[section]));
}

/** A list with a faulty item is dropped: the indices of the others would shift. */
const wholeList = (path: YamlPath): YamlPath =>
  path.slice(0, path.findLastIndex((step) => typeof step === 'string') + 1);

/** Faulty fields and relations stay, empty, because others may refer to them. */
function prune(value: JsonValue, faulty: ReadonlySet<string>, path: YamlPath): JsonValue {
  if (faulty.size === 0 || typeof value !== 'object' || value === null) return value;
  if (!isObject(value)) return value.map((item, index) => prune(item, faulty, [...path, index]));
  const entries = Object.entries(value).flatMap(([key, item]): [string, JsonValue][] => {
    const at = [...path, key];
    if (!faulty.has(pointer(at))) return [[key, prune(item, faulty, at)]];
    return isMember(at) ? [[key, {}]] : [];
  });
  return Object.fromEntries(entries);
}

const isMember = (path: YamlPath): boolean => path.length === 2 && (path[0] === 'fields' || path[0] === 'relations');

export interface RelationEnd {
  readonly type: TypeDraft;
  readonly name: string;
  readonly relation: RelationDraft;
  /** undefined if no file describes it. */
  readonly target: TypeDraft | undefined;
}

export interface Schema extends Pairing<RelationEnd> {
  readonly types: readonly TypeDraft[];
  readonly byName: ReadonlyMap<string, TypeDraft>;
  /** Every file names its type; otherwise a missing type may just be unreadable. */
  readonly allNamed: boolean;
  readonly sides: readonly RelationEnd[];
  sidesOf(type: TypeDraft): readonly RelationEnd[];
  accepts(schema: JsonObject, value: JsonValue): boolean;
}

export function createTypeSchema(types: readonly TypeDraft[], allNamed: boolean): Schema {
  const byName = new Map(types.map((type) => [type.name, type]));
  const sides = types.flatMap((type) =>
    [...type.relations].map(([name, relation]): RelationEnd => {
      return { type, name, relation, target: byName.get(relation.type ?? '') };
    }),
  );
  const byType = Map.groupBy(sides, ({ type }) => type);
  const sidesOf = (type: TypeDraft) => byType.get(type) ?? [];
  return { types, byName, allNamed, sides, sidesOf, ...pairUp(sides), accepts: valueChecker() };
}

/** Many fields share a schema. */
function valueChecker(): Schema['accepts'] {
  const ajv = createAjv();
  const compiled = new Map<string, (value: JsonValue) => boolean>();
  return (schema, value) => {
    const key = JSON.stringify(schema);
    const validate = compiled.get(key) ?? ajv.compile(schema);
    compiled.set(key, validate);
    return validate(value) === true;
  };
}
