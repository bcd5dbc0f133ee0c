/** Describes types as complete descriptors, and draws their diagram. */
import { constraintsOf } from '../descriptor/grammar.ts';
import { NOW } from '../descriptor/descriptor.ts';
import { ruleOf } from '../model/checks.ts';
import {
  type Field,
  type Index,
  labelAmong,
  type Model,
  type OrderTerm,
  type RecordType,
  type Relation,
} from '../model/model.ts';
import { byName, type JsonObject, type JsonValue, withoutUndefined } from '../json/json.ts';

/** `shown`: what to show of the descriptions of the type, of its identifier, and of each field and relation. */
export function describeType(type: RecordType, shown = (described: JsonObject): JsonObject => described): JsonObject {
  const { name, title, description, inRecord, kind, by, constraints, examples } = type.identifier;
  const made = { type: kind.type.name, by, ...constraints, ...(examples.length > 0 ? { examples } : {}) };
  const { section, columns, order } = type.presents;
  const whole = withoutUndefined({
    type: type.name,
    title: { ...type.title },
    renamedFrom: type.renamedFrom,
    description: type.description,
    path: type.path,
    table: type.table,
    operations: [...type.operations],
    identifier: shown({ name, ...made, title, description, inRecord }),
    label: type.presents.label ?? labelAmong(type, type.defaultVariant.fields)?.name,
    order: orderOf(type),
    fields: byName(type.fields.values(), (field) => shown(describeField(field))),
    writeOnly: type.writeOnly?.fields.length ? byName(type.writeOnly.fields, describeField) : undefined,
    relations: byName(type.relations.values(), (relation) => shown(describeRelation(relation))),
    unique: groups(type, true),
    indexes: groups(type, false),
    checks: type.checks.map((check) => ({ ...ruleOf(check), message: check.message, at: check.at.name })),
    list: withoutUndefined({ maxLimit: type.maxLimit, count: type.count, columns, order }),
    section,
    open: type.open,
    history: type.history,
    variants: describeVariants(type),
    preconditions: type.preconditions,
    seed: type.seed,
  });
  return shown(whole);
}

function orderOf({ order, identifier }: RecordType): readonly string[] {
  const term = ({ field, descending }: OrderTerm): string =>
    `${field?.name ?? identifier.name}${descending ? ' desc' : ''}`;
  return order.length === 0 ? [identifier.name] : order.map(term);
}

export function describeField(field: Field): JsonObject {
  const { shows } = field;
  const isComparable = field.type.operators.length > 0;
  const defaults = Object.entries(constraintsOf(field.type.name)).flatMap(([keyword, schema]): [string, JsonValue][] =>
    schema['default'] === undefined ? [] : [[keyword, schema['default']]],
  );
  return withoutUndefined({
    type: field.type.name,
    title: field.title,
    renamedFrom: field.renamedFrom,
    description: field.description,
    ...(field.generated === undefined
      ? { required: field.required, nullable: field.nullable, default: defaultOf(field), readOnly: field.readOnly }
      : { generated: field.generated }),
    sensitive: field.sensitive,
    ...(isComparable ? { unique: field.unique, index: field.index } : {}),
    ...(field.type.isText ? { caseless: field.caseless, multiline: field.multiline } : {}),
    ...Object.fromEntries(defaults),
    ...field.constraints,
    shows: typeof shows === 'object' ? { ...shows } : shows,
    titles: titlesOf(field),
    examples: field.examples,
  });
}

/** Titles that differ from their values. */
function titlesOf({ valueTitles }: Field): JsonObject | undefined {
  const others = [...valueTitles].filter(([value, title]) => value !== title);
  return others.length > 0 ? Object.fromEntries(others) : undefined;
}

const defaultOf = ({ isNowByDefault, default: value, nullable, required }: Field): JsonValue | undefined =>
  isNowByDefault ? NOW : (value ?? (nullable && !required ? null : undefined));

export function describeRelation(relation: Relation): JsonObject {
  const { link, inverse, nested, owned, kind } = relation;
  const isParent = kind === 'hasOne' || kind === 'hasMany';
  return withoutUndefined({
    kind,
    type: relation.target.name,
    title: relation.title,
    renamedFrom: relation.renamedFrom,
    description: relation.description,
    inverse: inverse?.name,
    column: link.at === 'source' || (link.at === 'target' && !inverse) ? link.reference.column : undefined,
    through: link.at === 'join' ? link.table.name : undefined,
    required: link.at === 'source' ? relation.required : undefined,
    readOnly: relation.readOnly,
    owned: isParent ? owned : undefined,
    onDelete: link.at === 'source' ? link.reference.onDelete : undefined,
    acyclic: link.at !== 'join' && relation.target === relation.source ? link.reference.acyclic : undefined,
    nested,
    fields: relation.fields.map(({ name }) => name),
    shown: relation.shown,
  });
}

/** Indexes that no field or default order implies, as names. */
function groups({ indexes, order, relations }: RecordType, unique: boolean): JsonValue {
  const names = ({ members }: Index): readonly string[] => members.map(({ name }) => name);
  // The token may hide relations.
  const isNamed = (member: Index['members'][number]): boolean => !('link' in member) || relations.has(member.name);
  const ordered = order.flatMap(({ field }) => field?.name ?? []).join();
  return indexes
    .filter((index) => index.unique === unique && index.members.every(isNamed))
    .filter(({ members: [first, second] }) => second !== undefined || (first !== undefined && 'link' in first))
    .map(names)
    .filter((one) => unique || one.join() !== ordered);
}

function describeVariants({ variants, defaultVariant, fields }: RecordType): JsonObject | undefined {
  if (variants.has('')) return undefined;
  const omit = byName(variants.values(), ({ fields: kept }) =>
    [...fields.values()].filter((field) => !kept.includes(field)).map(({ name }) => name),
  );
  return { default: defaultVariant.name, omit };
}

// Mermaid code, which GitHub and most editors draw.

/** The links that the relations of the model show, lest the model of a client tells of others. */
export function mermaidOf(model: Model): string {
  const types = [...model.types.values()];
  const links = types.flatMap(({ relations }) => [...relations.values()].flatMap(linkLines));
  return ['erDiagram', ...types.map(({ name }) => `  ${quoted(name)}`), ...new Set(links)].join('\n');
}

/** Of a link that two relations share, the one with the column gives the line. */
function linkLines({ source, target, link }: Relation): readonly string[] {
  if (link.at === 'join') return [line(link.table.left.type, '}o--o{', link.table.right.type, '')];
  const { relation, required, unique } = link.reference;
  const ends = `${unique ? '|o' : '}o'}--${required ? '||' : 'o|'}`;
  if (link.at === 'source') return [line(source, ends, target, relation?.name ?? '')];
  return relation ? [] : [line(target, ends, source, '')];
}

const quoted = (name: string): string => `"${name}"`;

const line = (from: RecordType, ends: string, to: RecordType, label: string): string =>
  `  ${quoted(from.name)} ${ends} ${quoted(to.name)} : "${label}"`;
