/** Descriptors without their faulty parts: checks across files see faulty files too. */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import {
  DEFAULTS,
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
import type { FileLocator, YamlPath } from './source.ts';
import { createAjv } from '../field-types/ajv-keywords.ts';
import { perKey } from '../memo.ts';

export type FieldDraft = Partial<FieldDescriptor>;
type RelationDraft = Partial<RelationDescriptor>;

interface DescriptorDraft extends Partial<Omit<Descriptor, 'fields' | 'relations' | 'variants' | 'seed'>> {
  readonly seed?: readonly (JsonObject | null)[];
  readonly fields?: Readonly<Record<string, FieldDraft>>;
  readonly relations?: Readonly<Record<string, RelationDraft>>;
  readonly variants?: Partial<NonNullable<Descriptor['variants']>>;
}

export interface TypeDraft {
  readonly where: FileLocator;
  readonly name: string;
  readonly draft: DescriptorDraft;
  /** Whether the file could be read at all. */
  readonly isRead: boolean;
  /** Strings in faulty parts of the descriptor: possible names of fields or relations. */
  readonly hidden: ReadonlySet<string>;
  /** Keys of the descriptor whose values were faulty. */
  readonly lost: ReadonlySet<string>;
  readonly identifier: string;
  readonly fields: ReadonlyMap<string, FieldDraft>;
  readonly relations: ReadonlyMap<string, RelationDraft>;
  readonly operations: ReadonlySet<Operation> | undefined;
}

/** Faults that leave the value usable. */
const HARMLESS: ReadonlySet<string> = new Set(['bad-name', 'reserved-name', 'missing-key', 'repeated-item']);
const NAMING_KEYS: ReadonlySet<unknown> = new Set<unknown>(['fields', 'relations']);

/** `findings`: the faults that the grammar found. */
export function draftOf(where: FileLocator, value: JsonValue, findings: readonly Finding[]): TypeDraft {
  const harmful = findings.filter(({ code }) => !HARMLESS.has(code));
  const faulty = harmful.map(({ path }) => (EMPTY.has(path[0]) ? path : wholeList(path)));
  const draft = isObject(value) ? withoutParts(value, faulty) : {};
  const lost = new Set(faulty.filter(({ length }) => length === 1).map(([key]) => String(key)));
  return {
    where,
    name: draft.type ?? '',
    draft,
    isRead: isObject(value),
    hidden: new Set(isObject(value) ? harmful.flatMap((one) => namesHidden(one, value)) : []),
    lost,
    identifier: identifierName(draft),
    fields: new Map(Object.entries(draft.fields ?? {})),
    relations: new Map(Object.entries(draft.relations ?? {})),
    operations: lost.has('operations') ? undefined : operationsOf(draft),
  };
}

/** A type known only by its name. */
export function unreadable(where: FileLocator, name: string): TypeDraft {
  return { ...draftOf(where, { type: name }, []), isRead: false, operations: undefined };
}

/** Possible names in a misspelt or faulty section, or the name of a member in the wrong section. */
function namesHidden({ code, path }: Finding, value: JsonObject): readonly string[] {
  const [section = '', name] = path;
  if (code === 'misplaced-key' && path.length === 2) return [String(name)];
  const texts = [...JSON.stringify(value[section] ?? '').matchAll(/"([^"\\]+)"/g)].map(([, text = '']) => text);
  if (section === 'identifier') return [DEFAULTS.identifier.name, ...texts];
  return name === undefined && (code === 'unknown-key' || NAMING_KEYS.has(section)) ? texts : [];
}

/** Sections with lists whose faulty items become empty. Checks skip empty names. */
const EMPTY: ReadonlyMap<unknown, JsonValue> = new Map<unknown, JsonValue>([
  ['order', ''],
  ['unique', []],
  ['indexes', []],
  ['variants', ''],
  ['relations', ''],
  ['seed', null],
]);

/** Drops other lists with a faulty item: without it, other indices would shift. */
const wholeList = (path: YamlPath): YamlPath =>
  path.slice(0, path.findLastIndex((step) => typeof step === 'string') + 1);

/** Keeps faulty fields and relations as {}: others may refer to them. */
function withoutParts(value: JsonObject, faulty: readonly YamlPath[]): DescriptorDraft {
  const draft: JsonObject = structuredClone(value);
  for (const path of faulty) {
    const key = path.at(-1) ?? '';
    const parent = path.slice(0, -1).reduce<unknown>(memberOf, draft);
    if (Array.isArray(parent)) parent[Number(key)] = path.length === 2 ? (EMPTY.get(path[0]) ?? null) : '';
    else if (isObject(parent) && path.length === 2 && NAMING_KEYS.has(path[0])) Reflect.set(parent, key, {});
    else if (isObject(parent)) Reflect.deleteProperty(parent, key);
  }
  return draft;
}

/** Only own members: a name may be that of a property of every object. */
const memberOf = (node: unknown, step: string | number): unknown =>
  Object.hasOwn(Object(node), step) ? Reflect.get(Object(node), step) : undefined;

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
  /** Whether every file names its type: otherwise, a missing type may be unreadable. */
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

const ANY: FieldDescriptor = { type: 'any' };

export interface DescriptorFile extends FileLocator {
  readonly descriptor: Descriptor;
}

/**
 * Removes what `errors` report: a faulty field or relation becomes a field of any value. Checks of a Model of
 * the result find the faults of all other parts.
 */
export function withoutFaults(
  schema: Schema,
  errors: ReadonlyMap<TypeDraft, readonly Finding[]>,
): readonly DescriptorFile[] {
  const errorsOf = (type: TypeDraft): readonly YamlPath[] => (errors.get(type) ?? []).map(({ path }) => path);
  const isFaulty = (type: TypeDraft, section: string, member: string): boolean =>
    errorsOf(type).some((path) => path[0] === section && path[1] === member);
  const isUnclear = ({ type, name, target }: RelationEnd): boolean =>
    !target?.isRead || target.hidden.size > 0 || isFaulty(type, 'relations', name);
  return schema.types.flatMap((type): readonly DescriptorFile[] => {
    const { where, draft, fields, relations, lost, hidden } = type;
    if (type.name === '' || !type.isRead) return [];
    const unclear = schema.sidesOf(type).filter((side) => [side, schema.inverse(side) ?? side].some(isUnclear));
    const unknown = new Set([
      ...[...hidden].filter((name) => !fields.has(name) && !relations.has(name)),
      ...[...fields.keys()].filter((name) => isFaulty(type, 'fields', name)),
      ...unclear.map(({ name }) => name),
    ]);
    const keys = new Set(errorsOf(type).map(([key]) => key));
    if (keys.size === 0 && unknown.size === 0) return [{ ...where, descriptor: draft as Descriptor }];
    const known = <T>(members: ReadonlyMap<string, T>) => [...members].filter(([name]) => !unknown.has(name));
    const descriptor = {
      type: type.name,
      fields: Object.fromEntries([...known(fields), ...[...unknown].map((name) => [name, ANY] as const)]),
      relations: Object.fromEntries(known(relations)),
      open: draft.open === true || ['open', 'fields', 'relations'].some((key) => lost.has(key)),
      ...(draft.variants && !keys.has('variants') ? { variants: draft.variants } : {}),
      // The grammar reports seeds that are not objects.
      ...(keys.has('identifier') ? {} : { identifier: draft.identifier, seed: draft.seed?.map((one) => one ?? {}) }),
    };
    return [{ ...where, descriptor: descriptor as Descriptor }];
  });
}

/** Compiles each schema once: many fields share one. */
function valueChecker(): Schema['accepts'] {
  const ajv = createAjv();
  const validatorOf = perKey((schema: string) => ajv.compile(JSON.parse(schema) as JsonObject));
  return (schema, value) => validatorOf(JSON.stringify(schema))(value) === true;
}
