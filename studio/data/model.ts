/** The model of the studio: the document at `studio/model.json`, and questions that it answers. */
import { createContext, useContext } from 'react';
import { isValueObject, NumberText, textOf, type Value, type ValueObject } from './json.ts';
import type { Where } from './where.ts';

export type Operation = 'list' | 'get' | 'create' | 'update' | 'delete';
export type OperatorName = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'like' | 'null';

export type Write = 'create' | 'update';

interface Titled {
  readonly title: string;
  readonly description?: string;
}

/** Whether clients choose the value of a field or relation. */
interface Chosen {
  readonly readOnly?: boolean;
  /** The only write in which it does, where a role tells them apart. */
  readonly chosenOn?: Write;
}

/** The field of an array's items, without a title. */
export type ItemInfo = Partial<FieldInfo> & { readonly type: string };

/** A field without `required` and `nullable` is generated. */
export interface FieldInfo extends Titled, Chosen {
  readonly name: string;
  readonly type: string;
  readonly required?: boolean;
  readonly nullable?: boolean;
  readonly default?: Value;
  readonly generated?: string;
  readonly multiline?: boolean;
  /** What its values are. */
  readonly shows?: string | { readonly money: string };
  readonly sensitive?: boolean;
  readonly unique?: boolean;
  readonly examples: readonly Value[];
  readonly operators: readonly OperatorName[];
  readonly isOrderIndexed: boolean;
  readonly enum?: readonly string[];
  /** The field of an array's items. */
  readonly items?: ItemInfo;
  /** Of values of `enum` that people call something else. */
  readonly titles?: Readonly<Record<string, string>>;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number | string;
  readonly maximum?: number | string;
  readonly precision?: number;
  readonly scale?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface RelationInfo extends Titled, Chosen {
  readonly name: string;
  readonly kind: 'belongsTo' | 'hasOne' | 'hasMany' | 'manyToMany';
  readonly type: string;
  readonly label: string | null;
  /** What its records are named by, as paths. */
  readonly labelPaths: readonly string[];
  readonly inverse?: string;
  readonly required?: boolean;
  readonly owned?: boolean;
  readonly nested: 'write' | 'link' | 'read';
  readonly fields: readonly string[];
  readonly shown: boolean;
  readonly operators: readonly OperatorName[];
  readonly readOnly?: boolean;
  readonly canCreate: boolean;
}

/** A relation of a type with a list, through which the records of a type without one are found. */
interface Way {
  readonly type: string;
  readonly relation: string;
  readonly toMany: boolean;
}

export type IdentifierKind = 'integer' | 'uuid' | 'string';

export interface TypeInfo {
  readonly type: string;
  readonly title: { readonly one: string; readonly many: string };
  readonly description?: string;
  readonly path: string;
  readonly operations: readonly Operation[];
  /** The field that names its records, or the first of several. */
  readonly label: string | null;
  /** With several: `{last_name}, {first_name}`. */
  readonly labelText?: string;
  readonly labelPaths: readonly string[];
  /** The heading in the menu. */
  readonly section?: string;
  readonly identifier: Omit<FieldInfo, 'type'> & {
    readonly type: IdentifierKind;
    readonly inRecord: boolean;
    /** Who makes it. */
    readonly by: 'service' | 'client';
  };
  readonly order: readonly string[];
  readonly fields: readonly FieldInfo[];
  readonly relations: readonly RelationInfo[];
  readonly open: boolean;
  /** Whether its history may be read. */
  readonly history: boolean;
  readonly list: {
    readonly maxLimit: number;
    readonly count: 'exact' | 'estimated' | 'none';
    readonly columns?: readonly string[];
    readonly order?: readonly string[];
  };
  readonly variants?: { readonly default: string; readonly omit: Readonly<Record<string, readonly string[]>> };
  readonly preconditions: 'off' | 'optional' | 'required';
  readonly foundThrough: readonly Way[];
  /** Groups of fields and relations that are unique together. */
  readonly unique: readonly (readonly string[])[];
}

export interface StudioModel {
  readonly title: string;
  readonly token: { readonly name: string } | null;
  /** Whether a role may write some records of a type and not others; OPTIONS tells for each. */
  readonly rightsByRecord: boolean;
  readonly limits: Readonly<
    Record<'batchLimit' | 'bodyItems' | 'bodyLimit' | 'maxFilters' | 'maxIncludes' | 'writeRows', number>
  >;
  readonly types: ReadonlyMap<string, TypeInfo>;
}

/** In the document, names are keys. */
interface TypeEntry extends Omit<TypeInfo, 'fields' | 'relations' | 'labelPaths'> {
  readonly fields: Readonly<Record<string, Omit<FieldInfo, 'name'>>>;
  readonly relations: Readonly<Record<string, Omit<RelationInfo, 'name' | 'labelPaths'>>>;
}
interface ModelDocument extends Omit<StudioModel, 'types'> {
  readonly types: readonly TypeEntry[];
}

export function readModel(text: string): StudioModel {
  const document = JSON.parse(text) as ModelDocument;
  const entries = new Map(document.types.map((entry) => [entry.type, entry]));
  const pathsOf = (type: string, label: string | null): readonly string[] => {
    const entry = entries.get(type);
    const paths = label === entry?.label ? placeholders(entry?.labelText) : [];
    return paths.length > 0 || label === null ? paths : [label];
  };
  const types = document.types.map((entry): [string, TypeInfo] => [
    entry.type,
    {
      ...entry,
      identifier: { ...IDENTIFIER, ...entry.identifier },
      labelPaths: pathsOf(entry.type, entry.label),
      fields: named(entry.fields).map(withTexts),
      relations: named(entry.relations).map((relation) => ({
        ...relation,
        labelPaths: pathsOf(relation.type, relation.label),
      })),
    },
  ]);
  return { ...document, types: new Map(types) };
}

const named = <T extends object>(entries: Readonly<Record<string, T>>): readonly (T & { readonly name: string })[] =>
  Object.entries(entries).map(([name, entry]) => ({ ...entry, name }));

const placeholders = (text = ''): readonly string[] => [...text.matchAll(/\{([^{}]*)\}/g)].map(([, path = '']) => path);

const IDENTIFIER = { type: 'integer', by: 'service', examples: [] } as const;

/** Numbers that a field may have are chosen like texts. */
const withTexts = (field: FieldInfo): FieldInfo =>
  field.enum === undefined ? field : { ...field, enum: field.enum.map((value) => textOf(value)) };

const ModelContext = createContext<StudioModel | undefined>(undefined);
export const ModelProvider = ModelContext.Provider;

export function useModel(): StudioModel {
  const model = useContext(ModelContext);
  if (model === undefined) throw new Error('outside of ModelProvider');
  return model;
}

export function typeNamed(model: StudioModel, name: string): TypeInfo {
  const type = model.types.get(name);
  if (type === undefined) throw new Error(`the document has no type ${name}`);
  return type;
}

export const isChosen = ({ readOnly, chosenOn }: Chosen, write: Write): boolean =>
  readOnly !== true && (chosenOn === undefined || chosenOn === write);

/** The type as the form of a new record has it, or that of a change: what is not chosen there is no input. */
export function inForm(type: TypeInfo, write: Write): TypeInfo {
  const fixed = <T extends FieldInfo | RelationInfo>(member: T): T =>
    isChosen(member, write) ? member : { ...member, readOnly: true, required: false };
  return { ...type, fields: type.fields.map(fixed), relations: type.relations.map(fixed) };
}

export const can = ({ operations }: TypeInfo, operation: Operation): boolean => operations.includes(operation);

/** Forms are not views: they have every field that any variant has. Undefined: that of requests that do not choose. */
export function fullestVariant({ variants }: TypeInfo): string | undefined {
  if (variants === undefined) return undefined;
  const lacking = (name: string): number => variants.omit[name]?.length ?? 0;
  return Object.keys(variants.omit).reduce(
    (fullest, name) => (lacking(name) < lacking(fullest) ? name : fullest),
    variants.default,
  );
}

export const isToMany = ({ kind }: RelationInfo): boolean => kind === 'hasMany' || kind === 'manyToMany';

/** The types that have a list, in the order of their titles. */
export const listedTypes = ({ types }: StudioModel): readonly TypeInfo[] =>
  [...types.values()]
    .filter((type) => can(type, 'list'))
    .toSorted((one, other) => one.title.many.localeCompare(other.title.many));

export const identifierOf = ({ identifier }: TypeInfo, values: ValueObject): string => textOf(values[identifier.name]);

/** As bodies have it. */
export const identifierValue = ({ identifier }: TypeInfo, id: string): Value =>
  identifier.type === 'integer' ? new NumberText(id) : id;

const IDENTIFIERS: Readonly<Record<IdentifierKind, RegExp>> = {
  integer: /^[1-9]\d{0,14}$/,
  uuid: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
  string: /^.+$/u,
};

/** Whether a text can be an identifier. Written otherwise, as with a leading zero, it is a part of a text. */
export const isIdentifier = ({ identifier }: TypeInfo, text: string): boolean =>
  IDENTIFIERS[identifier.type].test(text);

/** The records with these identifiers; texts may have commas. */
export const withIdentifiers = ({ identifier }: TypeInfo, ids: readonly string[]): Where =>
  (identifier.type === 'string' ? ids : [ids.join(',')]).map((id) => [`_cnd[${identifier.name}][in]`, id]);

/** No record has it. */
export const noIdentifier = ({ identifier }: TypeInfo): string =>
  identifier.type === 'uuid' ? '00000000-0000-0000-0000-000000000000' : '0';

/** The address of a new record; where identifiers are texts, one of them may be "new". */
export const newWord = ({ identifier }: TypeInfo): string => (identifier.type === 'string' ? '$new' : 'new');
export const newPath = (type: TypeInfo): string => `/${type.path}/${newWord(type)}`;

/** `variant`: the view that it is opened in. */
export const recordPath = ({ path }: TypeInfo, id: string, variant?: string): string =>
  `/${path}/${encodeURIComponent(id)}${variant === undefined ? '' : `?$view=${encodeURIComponent(variant)}`}`;

/** Of a label with several fields; what is empty leaves no comma. */
function labelIn({ label, labelText }: TypeInfo, values: ValueObject): string {
  if (labelText === undefined) return label === null ? '' : textOf(values[label]);
  const read = (path: string): string => {
    const [name = '', field = ''] = path.split('.');
    const value = values[name];
    return textOf(isValueObject(value) ? value[field] : value);
  };
  return labelText
    .replaceAll(/\{([^{}]*)\}/g, (_all, path: string) => read(path))
    .replace(/^[\s,;·–-]+|[\s,;·–-]+$/g, '');
}

/** What the first field of a label may be in this name: all of it, or what stands before the next field. */
export function firstParts({ labelText = '' }: TypeInfo, name: string): readonly string[] {
  const [before = '', mark = ''] = labelText.split(/\{[^{}]*\}/);
  const rest = name.startsWith(before) ? name.slice(before.length) : name;
  const parts = mark === '' ? [] : rest.split(mark);
  return [...new Set([name, ...parts.map((_part, at) => parts.slice(0, at + 1).join(mark))])];
}

/** The name of a record for people: its label if it has one, and its identifier. */
export function nameOf(type: TypeInfo, values: Value | undefined, label = type.label): string {
  if (!isValueObject(values)) return '';
  const identifier = identifierOf(type, values);
  const text = label === type.label ? labelIn(type, values) : label === null ? '' : textOf(values[label]);
  if (text !== '') return text;
  return `${type.title.one} ${identifier}`;
}

/** Keys of an open type that nothing in its descriptor names. */
export function otherValues(type: TypeInfo, values: ValueObject): readonly (readonly [string, Value])[] {
  const known = new Set([type.identifier.name, ...[...type.fields, ...type.relations].map(({ name }) => name)]);
  return Object.entries(values).filter(([name]) => !known.has(name));
}

/** Types whose records are of their own: those that belong to others alone are found through them. */
export function menuTypes(model: StudioModel): readonly TypeInfo[] {
  const owned = new Set(
    [...model.types.values()].flatMap(({ relations }) =>
      relations.flatMap((one) => (one.owned === true ? one.type : [])),
    ),
  );
  return listedTypes(model).filter(({ type }) => !owned.has(type));
}
