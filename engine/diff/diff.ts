/** Compares two models: what the change means for HTTP clients. */
import { isDeepStrictEqual } from 'node:util';
import { COUNT_MODES, NOW, OPERATIONS, type Preconditions } from '../descriptor/descriptor.ts';
import { widens } from '../field-types/field-type.ts';
import { ruleKey, ruleOf, sentence } from '../model/checks.ts';
import { type Field, labelAmong, type Model, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { match, type Renamed } from '../model/renames.ts';
import { type Change, type ChangeKind, changeKinds } from './change.ts';

/** `was` and `is` fill the description. */
type Report = (kind: ChangeKind, name?: string, was?: unknown, is?: unknown) => void;

interface Pair<T> {
  readonly before: T;
  readonly after: T;
}

/** The changes by type, in the order of the new model, removed types last. */
export function compareModels(before: Model, after: Model): readonly Change[] {
  const { kept, added, removed } = pairUp(before.types, after.types);
  const names = new Map(kept.map((pair) => [pair.before.name, pair.after.name]));
  const changes: Change[] = [];
  const reporter =
    (type: string, affects: (breaks: string) => boolean): Report =>
    (kind, name, was, is) => {
      const [breaks, says] = changeKinds[kind];
      const description = says.replace('{was}', () => String(was)).replace('{is}', () => String(is));
      changes.push({ kind, breaking: affects(breaks), type, name, description });
    };
  for (const pair of kept) {
    const isCreated = pair.before.operations.has('create') || isNestedIn(pair.before, before);
    const isWritten = pair.before.operations.has('update') || isCreated;
    const affected = { all: true, creates: isCreated, writes: isWritten, none: false };
    const report = reporter(pair.after.name, (breaks) => affected[breaks as keyof typeof affected]);
    compareType(pair, report);
    compareFields(pair, report);
    compareRelations(pair, report, (old, now) => names.get(old) === now);
  }
  for (const { name } of added) reporter(name, () => false)('type-added');
  // Without operations it breaks nobody; relations that led to it are reported separately.
  for (const { name, path, operations } of removed) {
    const says = operations.size > 0 ? `/api/${path} no longer exists` : 'it had no path';
    reporter(name, () => operations.size > 0)('type-removed', undefined, undefined, says);
  }
  return changes;
}

/** Matches by name or former name. */
function pairUp<T extends Renamed>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>) {
  const { kept, added, dropped } = match(after.values(), before.keys());
  const were = (names: readonly string[]): readonly T[] => names.flatMap((name) => before.get(name) ?? []);
  return {
    kept: kept.flatMap(({ wanted, former }): readonly Pair<T>[] =>
      were([former]).map((was) => ({ before: was, after: wanted })),
    ),
    added,
    removed: were(dropped),
  };
}

/** Whether the bodies of other types write its records. */
const isNestedIn = (type: RecordType, { types }: Model): boolean =>
  [...types.values()].some(({ operations, relations }) => {
    const writes = operations.has('create') || operations.has('update');
    return writes && [...relations.values()].some(({ target, nested }) => target === type && nested === 'write');
  });

/** `on` where it holds from now on, `off` where it no longer does. */
function flag(report: Report, was: boolean, is: boolean, on: ChangeKind, off: ChangeKind, name?: string): void {
  if (was !== is) report(is ? on : off, name);
}

/** Of a part that has kept its name. */
function compareTitles(was: readonly string[], is: readonly string[], name: string | undefined, report: Report): void {
  if (!isDeepStrictEqual(was, is)) report('title-changed', name, JSON.stringify(was), JSON.stringify(is));
}

// Types, apart from their fields and relations.

function compareType(pair: Pair<RecordType>, report: Report): void {
  const { before, after } = pair;
  const isServed = before.operations.size > 0 && after.operations.size > 0;
  if (isServed && before.path !== after.path) report('path-changed', undefined, before.path, after.path);
  for (const one of OPERATIONS)
    flag(report, before.operations.has(one), after.operations.has(one), 'operation-added', 'operation-removed', one);
  const [was, is] = [before.identifier, after.identifier];
  if (was.name !== is.name) report('identifier-renamed', is.name, was.name);
  flag(report, was.inRecord, is.inRecord, 'identifier-shown', 'identifier-hidden', is.name);
  if (before.name === after.name)
    compareTitles([before.title.one, before.title.many], [after.title.one, after.title.many], undefined, report);
  if (was.name === is.name) compareTitles([was.title], [is.title], is.name, report);
  compareLabels(pair, report);
  const orders = [orderOf(before), orderOf(after)] as const;
  if (orders[0] !== orders[1]) report('order-changed', undefined, ...orders);
  if (after.maxLimit !== before.maxLimit && before.operations.has('list'))
    report(
      after.maxLimit < before.maxLimit ? 'limit-lowered' : 'limit-raised',
      undefined,
      before.maxLimit,
      after.maxLimit,
    );
  if (after.count !== before.count && before.operations.has('list')) {
    const isLess = COUNT_MODES.indexOf(after.count) > COUNT_MODES.indexOf(before.count);
    report(isLess ? 'count-less-exact' : 'count-more-exact', undefined, before.count, after.count);
  }
  flag(report, before.open, after.open, 'opened', 'closed');
  if (before.preconditions !== after.preconditions)
    report(PRECONDITIONS[after.preconditions], undefined, before.preconditions, after.preconditions);
  const [had, has] = [uniqueIn(before), uniqueIn(after)];
  for (const names of without(has, had)) report('unique-added', names);
  for (const names of without(had, has)) report('unique-removed', names);
  compareChecks(pair, report);
  compareVariants(pair, report);
}

const PRECONDITIONS = {
  required: 'precondition-required',
  optional: 'precondition-relaxed',
  off: 'precondition-ignored',
} as const satisfies Record<Preconditions, ChangeKind>;

const without = (names: ReadonlySet<string>, others: ReadonlySet<string>): readonly string[] =>
  [...names].filter((name) => !others.has(name));

const namesOf = (members: readonly { readonly name: string }[]): string => members.map(({ name }) => name).join(', ');

const uniqueIn = ({ indexes }: RecordType): ReadonlySet<string> =>
  new Set(
    indexes
      .filter(({ unique }) => unique)
      .map(({ members }) => namesOf(members.toSorted((one, other) => (one.name < other.name ? -1 : 1)))),
  );

/** The name of the identifier is left out: renaming it is reported separately. */
function orderOf({ order }: RecordType): string {
  const terms = order.map(({ field, descending }) => `${field?.name ?? 'identifier'}${descending ? ' desc' : ''}`);
  const end = order.some(({ field }) => field === undefined) ? [] : ['identifier'];
  return [...terms, ...end].join(', ');
}

/** A label that the descriptors leave to the rules is no change of its own. */
function compareLabels({ before, after }: Pair<RecordType>, report: Report): void {
  if (!before.label && !after.label) return;
  const [was, is] = [before, after].map((type) => labelAmong(type, type.defaultVariant.fields));
  if (was?.name !== is?.name && was?.name !== is?.renamedFrom)
    report('label-changed', undefined, was?.name ?? 'none', is?.name ?? 'none');
}

/** By the names that fields have now: one that accepts more or less is another check. */
function compareChecks({ before, after }: Pair<RecordType>, report: Report): void {
  const names = new Map(pairUp(before.fields, after.fields).kept.map((pair) => [pair.before, pair.after.name]));
  const nowCalled = (field: Field): string => names.get(field) ?? field.name;
  const was = new Map(before.checks.map((check) => [ruleKey(ruleOf(check, nowCalled)), check]));
  const is = new Map(after.checks.map((check) => [ruleKey(ruleOf(check)), check]));
  for (const [key, check] of is)
    if (!was.has(key)) report('check-added', namesOf(check.fields), undefined, sentence(ruleOf(check)));
  for (const [key, check] of was)
    if (!is.has(key)) report('check-removed', namesOf(check.fields), sentence(ruleOf(check)));
}

function compareVariants({ before, after }: Pair<RecordType>, report: Report): void {
  if (before.defaultVariant.name !== after.defaultVariant.name)
    report('default-variant-changed', undefined, before.defaultVariant.name, after.defaultVariant.name);
  for (const name of after.variants.keys())
    if (!before.variants.has(name) && name !== '') report('variant-added', name);
  for (const variant of before.variants.values()) {
    if (variant.name === '') continue;
    const now = after.variants.get(variant.name);
    if (!now) {
      report('variant-removed', variant.name);
      continue;
    }
    const [had, has] = [fieldsIn(variant), fieldsIn(now)];
    for (const field of without(had, has))
      if (after.fields.has(field)) report('variant-lacks-field', variant.name, field);
    for (const field of without(has, had))
      if (before.fields.has(field)) report('variant-has-field', variant.name, undefined, field);
  }
}

const fieldsIn = ({ fields }: Pick<Variant, 'fields'>): ReadonlySet<string> => new Set(fields.map(({ name }) => name));

// Fields.

function compareFields(pair: Pair<RecordType>, report: Report): void {
  const { kept, added, removed } = pairUp(pair.before.fields, pair.after.fields);
  for (const { before, after } of kept) compareField(before, after, report);
  for (const { name, required } of added) report(required ? 'required-field-added' : 'field-added', name);
  for (const { name } of removed) report('field-removed', name);
}

function compareField(before: Field, after: Field, report: Report): void {
  const { name, type } = after;
  if (before.name !== name) report('field-renamed', name, before.name);
  else compareTitles(titlesOf(before, after), titlesOf(after, before), name, report);
  if (before.multiline !== after.multiline)
    report('multiline-changed', name, undefined, after.multiline ? 'have' : 'no longer have');
  if (before.type !== type) report('field-type-changed', name, before.type.name, type.name);
  else if (!widens(type, before, after)) report('field-narrowed', name, undefined, type.expected(after));
  else if (!widens(type, after, before)) report('field-widened', name, undefined, type.expected(after));
  flag(report, before.caseless, after.caseless, 'case-ignored', 'case-regarded', name);
  flag(report, before.required, after.required, 'field-required', 'field-optional', name);
  flag(report, before.nullable, after.nullable, 'null-answered', 'null-refused', name);
  flag(report, before.readOnly, after.readOnly, 'field-read-only', 'field-writable', name);
  if (before.generated !== after.generated)
    report(
      after.generated === undefined ? 'field-not-generated' : 'field-generated',
      name,
      before.generated,
      after.generated,
    );
  const defaultOf = ({ isNowByDefault, default: value = null }: Field): string =>
    JSON.stringify(isNowByDefault ? NOW : value);
  if (defaultOf(before) !== defaultOf(after)) report('default-changed', name, defaultOf(before), defaultOf(after));
}

/** The title, and those of the values that both have. */
const titlesOf = ({ title, valueTitles }: Field, other: Field): readonly string[] => [
  title,
  ...[...valueTitles].flatMap(([value, one]) => (other.valueTitles.has(value) ? [`${value}: ${one}`] : [])).toSorted(),
];

// Relations.

/** Whether two names, before and after the change, refer to the same type. */
type SameType = (before: string, after: string) => boolean;

function compareRelations(pair: Pair<RecordType>, report: Report, sameType: SameType): void {
  const { kept, added, removed } = pairUp(pair.before.relations, pair.after.relations);
  for (const { before, after } of kept) compareRelation(before, after, report, sameType);
  for (const { name, required } of added) report(required ? 'required-relation-added' : 'relation-added', name);
  for (const { name } of removed) report('relation-removed', name);
}

function compareRelation(before: Relation, after: Relation, report: Report, sameType: SameType): void {
  const { name, target } = after;
  if (before.name !== name) report('relation-renamed', name, before.name);
  else compareTitles([before.title], [after.title], name, report);
  if (before.toMany !== after.toMany) {
    const says = after.toMany ? 'was one record, is a set' : 'was a set, is one record';
    report('relation-kind-changed', name, undefined, says);
  }
  if (!sameType(before.target.name, target.name))
    report('relation-type-changed', name, before.target.name, target.name);
  flag(report, before.required, after.required, 'relation-required', 'relation-optional', name);
  if (before.nested !== after.nested)
    report(after.nested === 'link' ? 'relation-link-only' : 'relation-writable', name);
  // Fields that the related type itself lost or gained are reported there.
  const [had, has] = [fieldsIn(before), fieldsIn(after)];
  const less = without(had, has).filter((field) => target.fields.has(field));
  const more = without(has, had).filter((field) => before.target.fields.has(field));
  if (less.length > 0) report('relation-shows-less', name, less.join(', '));
  if (more.length > 0) report('relation-shows-more', name, undefined, more.join(', '));
  flag(report, before.shown, after.shown, 'relation-shown', 'relation-not-shown', name);
  if (before.owned !== after.owned) report('ownership-changed', name, undefined, after.owned ? 'now' : 'no longer');
  const [was, is] = [deletionOf(before), deletionOf(after)];
  if (was !== undefined && is !== undefined && was !== is && before.owned === after.owned)
    report('deletion-changed', name, was, is);
  flag(report, isAcyclic(before), isAcyclic(after), 'cycles-refused', 'cycles-accepted', name);
}

const isAcyclic = ({ link }: Relation): boolean => link.at !== 'join' && link.reference.acyclic;

const deletionOf = ({ link }: Relation): string | undefined =>
  link.at === 'source' ? link.reference.onDelete : undefined;
