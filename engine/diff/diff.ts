/** Compares two models: what changes for HTTP clients. */
import { isDeepStrictEqual } from 'node:util';
import { COUNT_MODES, NOW, OPERATIONS, type Preconditions } from '../descriptor/descriptor.ts';
import { type ItemShape, listed, widens } from '../field-types/field-type.ts';
import { ruleKey, ruleOf, sentence } from '../model/checks.ts';
import {
  type Field,
  linkKeys,
  matchRenamed,
  type Model,
  reached,
  type RecordType,
  type Relation,
} from '../model/model.ts';

type Breaks = 'all' | 'creates' | 'writes' | 'uniques' | 'histories' | 'none';

const changeKinds = {
  'type-added': ['none', 'new'],
  'type-removed': ['all', '{is}'],
  'type-renamed': ['all', 'was {was}: schemas, operation identifiers and tools have the new name'],
  'path-changed': ['all', 'was /api/{was}, is /api/{is}'],
  'operation-added': ['none', 'new'],
  'operation-removed': ['all', 'now returns 405 or 404'],
  'identifier-renamed': ['all', 'was "{was}"'],
  'identifier-hidden': ['all', 'records no longer show it'],
  'identifier-shown': ['none', 'records now show it'],
  'identifier-type-changed': ['all', 'was {was}, is {is}'],
  'identifier-narrowed': ['creates', 'must now be {is}'],
  'identifier-widened': ['none', 'may now be {is}'],
  'identifier-by-client': ['creates', 'create now needs it'],
  'identifier-by-service': ['none', 'create no longer needs it'],
  'order-changed': ['all', 'was {was}, is {is}'],
  'limit-lowered': ['all', 'was {was}, is {is}'],
  'limit-raised': ['none', 'was {was}, is {is}'],
  'count-less-exact': ['all', 'X-Total-Count was {was}, is {is}'],
  'count-more-exact': ['none', 'X-Total-Count was {was}, is {is}'],
  opened: ['none', 'unknown keys are now accepted'],
  closed: ['all', 'unknown keys are now rejected, and no longer returned'],
  'history-kept': ['none', 'changes are now recorded'],
  'history-ended': ['all', '$history, $deleted and $restore no longer exist, and $changes lacks it'],
  'precondition-required': ['all', 'was {was}, is {is}'],
  'precondition-relaxed': ['none', 'was {was}, is {is}'],
  'precondition-ignored': ['all', 'was {was}, is {is}'],
  'unique-added': ['writes', 'values must now be unique'],
  'unique-removed': ['uniques', 'values no longer need to be unique, so "on" and links can no longer name them'],
  'check-added': ['writes', 'rejected otherwise: {is}'],
  'check-removed': ['none', 'no longer needed: {was}'],
  'variant-added': ['none', 'new'],
  'variant-removed': ['all', 'now returns 400'],
  'default-variant-changed': ['all', 'was "{was}", is "{is}"'],
  'variant-lacks-field': ['all', 'no longer has {was}'],
  'variant-has-field': ['none', 'now has {is}'],
  'field-added': ['none', 'new'],
  'key-declared': ['all', 'was an open key with any value, is {is}'],
  'required-field-added': ['creates', 'create needs a value for this new field'],
  'field-removed': ['all', 'no longer returned or accepted'],
  'field-renamed': ['all', 'was "{was}"'],
  'case-ignored': ['all', 'values that differ only in case are now equal, and ordered alike'],
  'case-regarded': ['all', 'values that differ only in case are no longer equal, nor ordered alike'],
  'field-type-changed': ['all', 'was {was}, is {is}'],
  'field-narrowed': ['writes', 'must now be {is}'],
  'value-removed': ['all', 'must now be {is}; filters by other values are rejected'],
  'value-added': ['all', 'is now {is}: responses may contain other values than before'],
  'field-widened': ['none', 'may now be {is}'],
  'field-required': ['creates', 'create now needs a value'],
  'field-optional': ['none', 'create no longer needs a value'],
  'null-refused': ['writes', 'null is now rejected'],
  'null-answered': ['all', 'responses may now contain null'],
  'field-read-only': ['writes', 'requests can no longer change it'],
  'field-writable': ['none', 'requests can now change it'],
  'field-generated': ['writes', 'is now {is}, whatever requests say'],
  'field-not-generated': ['all', 'was {was}, and is what requests say'],
  'values-hidden': ['histories', 'messages, logs and histories no longer show its values'],
  'values-shown': ['none', 'messages, logs and histories can now show its values'],
  'default-changed': ['none', 'was {was}, is {is}'],
  'relation-added': ['none', 'new'],
  'required-relation-added': ['creates', 'create needs this new relation'],
  'relation-removed': ['all', 'no longer returned or accepted'],
  'relation-renamed': ['all', 'was "{was}"'],
  'relation-kind-changed': ['all', 'was {was}, is {is}'],
  'relation-type-changed': ['all', 'was {was}, is {is}'],
  'relation-inverse-changed': ['all', 'was the other side of {was}, is that of {is}'],
  'relation-required': ['all', 'every record now needs it'],
  'relation-optional': ['all', 'responses may now contain null'],
  'relation-link-only': ['writes', 'bodies can now only link related records here'],
  'relation-writable': ['none', 'bodies can now create and change related records here'],
  'relation-links-less': ['writes', 'unique values without an identifier no longer link a record, but make a new one'],
  'relation-shows-less': ['all', 'no longer shows {was}'],
  'relation-shows-more': ['none', 'now shows {is}'],
  'relation-not-shown': ['all', 'responses contain it only if include or fields names it'],
  'relation-shown': ['none', 'responses now contain it by default'],
  'cycles-refused': ['writes', 'no record can be above itself now'],
  'cycles-accepted': ['all', 'a record can be above itself now'],
  'ownership-changed': ['all', 'records left out are {is} deleted'],
  'deletion-changed': ['all', 'when the related record is deleted: was {was}, is {is}'],
} as const satisfies Record<string, readonly [breaks: Breaks, text: string]>;

type ChangeKind = keyof typeof changeKinds;

export interface Change {
  readonly kind: ChangeKind;
  readonly breaking: boolean;
  readonly type: string;
  readonly name: string | undefined;
  readonly description: string;
}

interface Pair<T> {
  readonly before: T;
  readonly after: T;
}

type NamesNow = ReadonlyMap<RecordType | Field | Relation, string>;

/** The changes of one type. `affected`: which kinds of clients it has. */
function reportOn(type: string, affected: Partial<Record<Breaks, boolean>> = {}) {
  const changes: Change[] = [];
  const add = (kind: ChangeKind, name?: string, was?: unknown, is?: unknown): void => {
    const [breaks, text] = changeKinds[kind];
    const description = text.replace('{was}', () => String(was)).replace('{is}', () => String(is));
    changes.push({ kind, breaking: affected[breaks] ?? false, type, name, description });
  };
  const compare = (kind: ChangeKind, name: string | undefined, was: unknown, is: unknown): void => {
    if (was !== is) add(kind, name, was, is);
  };
  /** Adds `on` if it became true, `off` if it became false. */
  const flag = (was: boolean, is: boolean, on: ChangeKind, off: ChangeKind, name?: string): void => {
    if (was !== is) add(is ? on : off, name);
  };
  return { changes, add, compare, flag };
}

type Report = ReturnType<typeof reportOn>;

export function compareModels(before: Model, after: Model): readonly Change[] {
  const types = matchRenamed(after.types.values(), before.types.values());
  const pairs = types.kept.map((pair) => ({
    pair,
    fields: matchRenamed(pair.after.fields.values(), pair.before.fields.values()),
    relations: matchRenamed(pair.after.relations.values(), pair.before.relations.values()),
  }));
  const kept = [...types.kept, ...pairs.flatMap(({ fields, relations }) => [...fields.kept, ...relations.kept])];
  const now: NamesNow = new Map(kept.map((pair) => [pair.before, pair.after.name]));
  const { nested, linked } = reachedTypes(before);
  const reports = pairs.map(({ pair, fields, relations }) => {
    const { open, operations } = pair.before;
    const creates = operations.has('create') || nested.has(pair.before);
    const writes = operations.has('update') || creates;
    const uniques = (operations.has('create') && operations.has('update')) || linked.has(pair.before);
    const histories = pair.before.history && pair.after.history;
    const report = reportOn(pair.after.name, { all: true, creates, writes, uniques, histories });
    const add = (kind: 'field' | 'relation', name: string, required: boolean, is: string): void => {
      if (open) report.add('key-declared', name, undefined, is);
      if (required) report.add(`required-${kind}-added`, name);
      else if (!open) report.add(`${kind}-added`, name);
    };
    compareType(pair, now, report);
    for (const one of fields.kept) compareField(one, report);
    for (const { name, type, required } of fields.added) add('field', name, required, type.name);
    for (const { name } of fields.dropped) report.add('field-removed', name);
    for (const one of relations.kept) compareRelation(one, now, report);
    for (const { name, target, required } of relations.added)
      add('relation', name, required, `a relation to ${target.name}`);
    for (const { name } of relations.dropped) report.add('relation-removed', name);
    return report;
  });
  for (const { name } of types.added) {
    const report = reportOn(name);
    report.add('type-added');
    reports.push(report);
  }
  // A type without operations breaks no client; relations to it are reported separately.
  for (const { name, path, operations } of types.dropped) {
    const report = reportOn(name, { all: operations.size > 0 });
    const how = operations.size > 0 ? `/api/${path} no longer has its records` : 'it had no path';
    report.add('type-removed', undefined, undefined, how);
    reports.push(report);
  }
  return reports.flatMap(({ changes }) => changes);
}

/** Types whose records are linked, or even written, through relations of others, however deep. */
function reachedTypes({ types }: Model): Readonly<Record<'nested' | 'linked', ReadonlySet<RecordType>>> {
  const written = ({ relations }: RecordType): readonly RecordType[] =>
    [...relations.values()].flatMap(({ target, nested }) => (nested === 'write' ? target : []));
  const writing = [...types.values()].filter(({ operations }) => operations.has('create') || operations.has('update'));
  const nested = reached(writing.flatMap(written), written);
  const linking = [...writing, ...nested].flatMap(({ relations }) => [...relations.values()]);
  return { nested, linked: new Set(linking.map(({ target }) => target)) };
}

function compareType({ before, after }: Pair<RecordType>, now: NamesNow, report: Report): void {
  report.compare('type-renamed', undefined, before.name, after.name);
  if (before.operations.size > 0 && after.operations.size > 0)
    report.compare('path-changed', undefined, before.path, after.path);
  for (const one of OPERATIONS)
    report.flag(before.operations.has(one), after.operations.has(one), 'operation-added', 'operation-removed', one);
  const [was, is] = [before.identifier, after.identifier];
  report.compare('identifier-renamed', is.name, was.name, is.name);
  report.flag(was.inRecord, is.inRecord, 'identifier-shown', 'identifier-hidden', is.name);
  report.compare('identifier-type-changed', is.name, was.type.name, is.type.name);
  report.flag(was.by === 'service', is.by === 'service', 'identifier-by-service', 'identifier-by-client', is.name);
  const how = widens(is.type, was, is) ? 'identifier-widened' : 'identifier-narrowed';
  if (was.type === is.type && !isDeepStrictEqual(was.constraints, is.constraints))
    report.add(how, is.name, undefined, is.type.expected(is));
  report.compare('order-changed', undefined, orderOf(before, now), orderOf(after));
  if (before.operations.has('list')) {
    const isLess = COUNT_MODES.indexOf(after.count) > COUNT_MODES.indexOf(before.count);
    const isLower = after.maxLimit < before.maxLimit;
    report.compare(isLower ? 'limit-lowered' : 'limit-raised', undefined, before.maxLimit, after.maxLimit);
    report.compare(isLess ? 'count-less-exact' : 'count-more-exact', undefined, before.count, after.count);
  }
  report.flag(before.open, after.open, 'opened', 'closed');
  report.flag(before.history, after.history, 'history-kept', 'history-ended');
  report.compare(PRECONDITIONS[after.preconditions], undefined, before.preconditions, after.preconditions);
  const [had, has] = [uniqueIn(before, now), uniqueIn(after)];
  for (const names of has) if (!had.has(names)) report.add('unique-added', names);
  for (const names of had) if (!has.has(names)) report.add('unique-removed', names);
  const were = new Map(before.checks.map((check) => [ruleKey(ruleOf(check, (field) => nameNow(field, now))), check]));
  const are = new Map(after.checks.map((check) => [ruleKey(ruleOf(check)), check]));
  for (const [key, check] of are)
    if (!were.has(key)) report.add('check-added', namesOf(check.fields), undefined, sentence(ruleOf(check)));
  for (const [key, check] of were)
    if (!are.has(key)) report.add('check-removed', namesOf(check.fields), sentence(ruleOf(check)));
  compareVariants({ before, after }, now, report);
}

const PRECONDITIONS = {
  required: 'precondition-required',
  optional: 'precondition-relaxed',
  off: 'precondition-ignored',
} as const satisfies Record<Preconditions, ChangeKind>;

const nameNow = (member: Field | Relation, now: NamesNow): string => now.get(member) ?? member.name;

const namesOf = (members: readonly (Field | Relation)[], now: NamesNow = new Map()): string =>
  members
    .map((member) => nameNow(member, now))
    .toSorted()
    .join(', ');

const uniqueIn = ({ indexes }: RecordType, now?: NamesNow): ReadonlySet<string> =>
  new Set(indexes.flatMap(({ unique, members }) => (unique ? namesOf(members, now) : [])));

/** Writes "identifier" for its name, since its renaming is reported separately. */
function orderOf({ order }: RecordType, now: NamesNow = new Map()): string {
  const terms = order.map(
    ({ field, descending }) => `${field ? nameNow(field, now) : 'identifier'}${descending ? ' desc' : ''}`,
  );
  const end = order.some(({ field }) => field === undefined) ? [] : ['identifier'];
  return [...terms, ...end].join(', ');
}

function compareVariants({ before, after }: Pair<RecordType>, now: NamesNow, report: Report): void {
  report.compare('default-variant-changed', undefined, before.defaultVariant.name, after.defaultVariant.name);
  for (const name of after.variants.keys())
    if (!before.variants.has(name) && name !== '') report.add('variant-added', name);
  for (const { name, fields } of before.variants.values()) {
    if (name === '') continue;
    const variant = after.variants.get(name);
    if (!variant) report.add('variant-removed', name);
    const { less, more } = compareShown(before, fields, variant?.fields ?? fields, now);
    for (const field of less) report.add('variant-lacks-field', name, field);
    for (const field of more) report.add('variant-has-field', name, undefined, field);
  }
}

/** Names of kept fields that are no longer shown (`less`), or newly shown (`more`). */
function compareShown({ fields }: RecordType, had: readonly Field[], has: readonly Field[], now: NamesNow) {
  const [were, are] = [new Set(had.map((field) => now.get(field))), new Set(has.map(({ name }) => name))];
  const kept = [...fields.values()].flatMap((field) => now.get(field) ?? []);
  return {
    less: kept.filter((name) => were.has(name) && !are.has(name)),
    more: kept.filter((name) => !were.has(name) && are.has(name)),
  };
}

function compareField({ before, after }: Pair<Field>, report: Report): void {
  const { name, type } = after;
  report.compare('field-renamed', name, before.name, name);
  const [isNarrower, isWider] = [!widens(type, before, after), !widens(type, after, before)];
  if (before.type !== type) report.add('field-type-changed', name, before.type.name, type.name);
  else if (losesValue(before, after)) report.add('value-removed', name, undefined, type.expected(after));
  else if (addsValue(before, after)) report.add('value-added', name, undefined, type.expected(after));
  else if (isNarrower || isWider)
    report.add(isNarrower ? 'field-narrowed' : 'field-widened', name, undefined, type.expected(after));
  report.flag(before.caseless, after.caseless, 'case-ignored', 'case-regarded', name);
  report.flag(before.required, after.required, 'field-required', 'field-optional', name);
  report.flag(before.nullable, after.nullable, 'null-answered', 'null-refused', name);
  report.flag(before.readOnly, after.readOnly, 'field-read-only', 'field-writable', name);
  report.flag(before.sensitive, after.sensitive, 'values-hidden', 'values-shown', name);
  const isGenerated = after.generated !== undefined;
  report.compare(isGenerated ? 'field-generated' : 'field-not-generated', name, before.generated, after.generated);
  const defaultOf = ({ isNowByDefault, default: value = null }: Field): string =>
    JSON.stringify(isNowByDefault ? NOW : value);
  report.compare('default-changed', name, defaultOf(before), defaultOf(after));
}

function losesValue(before: ItemShape, after: ItemShape): boolean {
  const left = listed(after);
  return left !== undefined && (listed(before)?.some((value) => !left.includes(value)) ?? true);
}

/** Whether a client that knows the listed values, and the types of items, can meet others. */
function addsValue(before: ItemShape, after: ItemShape): boolean {
  const [was, is] = [before.type.item?.(before), after.type.item?.(after)];
  if (!was) return losesValue(after, before);
  return !is || is.type !== was.type || (is.nullable && !was.nullable) || addsValue(was, is);
}

function compareRelation({ before, after }: Pair<Relation>, now: NamesNow, report: Report): void {
  const { name, target } = after;
  report.compare('relation-renamed', name, before.name, name);
  report.compare('relation-kind-changed', name, before.kind, after.kind);
  // Told once, by the side without the column, unless the other relation itself came or went, which is told anyway.
  const others = before.inverse ? [before.inverse] : [...before.target.relations.values()];
  const isKnown = others.some((one) => (before.inverse ? now.has(one) : now.get(one) === after.inverse?.name));
  if (isKnown && before.kind === after.kind && after.link.at !== 'source')
    report.compare('relation-inverse-changed', name, sideOf(before.inverse, now), sideOf(after.inverse));
  const isSameType = now.get(before.target) === target.name;
  if (!isSameType) report.add('relation-type-changed', name, before.target.name, target.name);
  report.flag(before.required, after.required, 'relation-required', 'relation-optional', name);
  if (after.nested !== 'link' && linkKeys(before).length > 0) report.add('relation-links-less', name);
  report.flag(before.nested === 'link', after.nested === 'link', 'relation-link-only', 'relation-writable', name);
  const { less, more } = compareShown(before.target, before.fields, isSameType ? after.fields : before.fields, now);
  if (less.length > 0) report.add('relation-shows-less', name, less.join(', '));
  if (more.length > 0) report.add('relation-shows-more', name, undefined, more.join(', '));
  report.flag(before.shown, after.shown, 'relation-shown', 'relation-not-shown', name);
  if (before.owned !== after.owned) report.add('ownership-changed', name, undefined, after.owned ? 'now' : 'no longer');
  const [was, is] = [deletionOf(before), deletionOf(after)];
  if (was !== undefined && is !== undefined && before.owned === after.owned)
    report.compare('deletion-changed', name, was, is);
  report.flag(isAcyclic(before), isAcyclic(after), 'cycles-refused', 'cycles-accepted', name);
}

const sideOf = (inverse: Relation | undefined, now: NamesNow = new Map()): string =>
  inverse ? `"${nameNow(inverse, now)}"` : 'no relation';

const isAcyclic = ({ link }: Relation): boolean => link.at !== 'join' && link.reference.acyclic;

const deletionOf = ({ link }: Relation): string | undefined =>
  link.at === 'source' ? link.reference.onDelete : undefined;
