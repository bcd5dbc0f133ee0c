/** A record type as far as its file could be understood: the checks across files see faulty files too, without their faults. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../json.ts';
import { nearest } from '../names.ts';
import type { Descriptor, FieldDescriptor, Operation, RelationDescriptor } from './descriptor.ts';
import { OPERATIONS } from './descriptor.ts';
import type { Finding } from './finding.ts';
import { grammar } from './grammar.ts';
import type { Path, Placing } from './source.ts';

export type FieldDraft = Partial<FieldDescriptor>;
export type RelationDraft = Partial<RelationDescriptor>;

export interface Draft extends Partial<Omit<Descriptor, 'fields' | 'relations' | 'variants'>> {
  readonly fields?: Readonly<Record<string, FieldDraft>>;
  readonly relations?: Readonly<Record<string, RelationDraft>>;
  readonly variants?: Partial<NonNullable<Descriptor['variants']>>;
}

export interface TypeDraft {
  readonly where: Placing;
  readonly name: string;
  readonly draft: Draft;
  /** Whether a name that is not here is missing, rather than lost in a fault. */
  readonly complete: boolean;
  /** Keys of the descriptor whose values were faulty. */
  readonly lost: ReadonlySet<string>;
  readonly identifier: string;
  readonly fields: ReadonlyMap<string, FieldDraft>;
  readonly relations: ReadonlyMap<string, RelationDraft>;
  /** undefined where they could not be read. */
  readonly operations: ReadonlySet<Operation> | undefined;
}

/** Faults that leave the value usable. */
const HARMLESS: ReadonlySet<string> = new Set(['bad-name', 'reserved-name', 'missing-key', 'repeated-item']);
const NAMING_KEYS: ReadonlySet<string> = new Set(['fields', 'relations', 'identifier']);
const KEYS = Object.keys(grammar['properties'] ?? {});

/** A file that could be read as YAML, without what the grammar found at fault. */
export function draftOf(where: Placing, value: JsonValue, findings: readonly Finding[]): TypeDraft {
  const harmful = findings.filter(({ code }) => !HARMLESS.has(code));
  const faulty = harmful.map(({ path }) => wholeList(path));
  const pruned = prune(value, new Set(faulty.map(pointer)), []);
  const draft: Draft = isObject(pruned) ? pruned : {};
  const lost = new Set(faulty.filter(({ length }) => length === 1).map(([key]) => String(key)));
  return {
    where,
    name: draft.type ?? '',
    draft,
    complete: isObject(value) && !harmful.some((one) => hidesNames(one, value)),
    lost,
    identifier: draft.identifier?.name ?? 'id',
    fields: new Map(Object.entries(draft.fields ?? {})),
    relations: new Map(Object.entries(draft.relations ?? {})),
    operations: lost.has('operations') ? undefined : new Set(draft.operations ?? OPERATIONS),
  };
}

/** A type of which no more than the name is known. */
export function unreadable(where: Placing, name: string): TypeDraft {
  return { ...draftOf(where, { type: name }, []), complete: false, operations: undefined };
}

/** Whether names may be lost in a fault: in a section that is misspelt, or in one where they do not belong. */
function hidesNames({ code, path }: Finding, value: JsonObject): boolean {
  const [section, name] = path;
  if (section === 'identifier') return true;
  if (name !== undefined || typeof section !== 'string') return code === 'misplaced-key' && path.length === 2;
  return NAMING_KEYS.has(nearest(section, KEYS) ?? '') || (code === 'unknown-key' && isObject(value[section]));
}

/** A list with a faulty item is given up as a whole: the places of the others would shift. */
const wholeList = (path: Path): Path => path.slice(0, path.findLastIndex((step) => typeof step === 'string') + 1);

/** The value without its faulty parts. Faulty fields and relations stay, empty, since others may name them. */
function prune(value: JsonValue, faulty: ReadonlySet<string>, path: Path): JsonValue {
  if (faulty.size === 0 || typeof value !== 'object' || value === null) return value;
  if (!isObject(value)) return value.map((item, index) => prune(item, faulty, [...path, index]));
  const entries = Object.entries(value).flatMap(([key, item]): [string, JsonValue][] => {
    const at = [...path, key];
    if (!faulty.has(pointer(at))) return [[key, prune(item, faulty, at)]];
    return isMember(at) ? [[key, {}]] : [];
  });
  return Object.fromEntries(entries);
}

const isMember = (path: Path): boolean => path.length === 2 && (path[0] === 'fields' || path[0] === 'relations');
