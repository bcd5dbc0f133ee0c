/** Compares two models: what the change means for HTTP clients. */
import { isDeepStrictEqual } from 'node:util';
import { ruleKey, ruleOf, sentence } from '../model/checks.ts';
import {
  type Check,
  type Field,
  type Index,
  labelAmong,
  type Model,
  type RecordType,
  type Variant,
} from '../model/model.ts';
import {
  type Change,
  type ChangeKind,
  changeKinds,
  compareTitles,
  isCreated,
  isWritten,
  pairUp,
  type Report,
  type TypePair,
} from './change.ts';
import { compareRelations } from './relations.ts';
import { COUNT_MODES, NOW, OPERATIONS, type Preconditions } from '../descriptor/descriptor.ts';
import { widens } from '../field-types/field-type.ts';

/** Changes that only affect requests that create records, or that write them. */
const MET_BY_CREATES: ReadonlySet<ChangeKind> = new Set([
  'required-field-added',
  'field-required',
  'required-relation-added',
]);
const MET_BY_WRITES: ReadonlySet<ChangeKind> = new Set([
  'field-narrowed',
  'null-refused',
  'field-read-only',
  'field-generated',
  'unique-added',
  'check-added',
  'closed',
  'relation-link-only',
  'cycles-refused',
  'ownership-changed',
]);

/** The changes by type, in the order of the new model, removed types last. */
export function compareModels(before: Model, after: Model): readonly Change[] {
  const { kept, added, removed } = pairUp(before.types, after.types);
  const names = new Map(kept.map((pair) => [pair.before.name, pair.after.name]));
  const changes: Change[] = [];
  for (const pair of kept) {
    const { before: was } = pair;
    const types: TypePair = { ...pair, wasWritten: isWritten(was, before), wasCreated: isCreated(was, before) };
    const report = reporter(types, changes);
    compareType(types, report);
    compareFields(types, report);
    compareRelations(types, report, (old, now) => names.get(old) === now);
  }
  for (const { name } of added) changes.push(change('type-added', name, undefined, 'new', false));
  for (const type of removed) changes.push(removal(type));
  return changes;
}

const change = (
  kind: ChangeKind,
  type: string,
  name: string | undefined,
  description: string,
  breaking: boolean,
): Change => ({
  kind,
  breaking,
  type,
  name,
  description,
});

/** Removing a type without operations breaks nobody by itself; relations that led to it are reported separately. */
const removal = ({ name, path, operations }: RecordType): Change =>
  operations.size > 0
    ? change('type-removed', name, undefined, `/api/${path} no longer exists`, true)
    : change('type-removed', name, undefined, 'it had no path', false);

function reporter({ after, wasWritten, wasCreated }: TypePair, changes: Change[]): Report {
  return (kind, name, description) => {
    const isMet = (!MET_BY_CREATES.has(kind) || wasCreated) && (!MET_BY_WRITES.has(kind) || wasWritten);
    changes.push(change(kind, after.name, name, description, changeKinds[kind].breaking && isMet));
  };
}

// Types, apart from their fields and relations.

function compareType(pair: TypePair, report: Report): void {
  const { before, after } = pair;
  comparePlace(before, after, report);
  compareIdentifier(before, after, report);
  if (before.name === after.name)
    compareTitles([before.title.one, before.title.many], [after.title.one, after.title.many], undefined, report);
  if (before.identifier.name === after.identifier.name)
    compareTitles([before.identifier.title], [after.identifier.title], after.identifier.name, report);
  compareLabels(before, after, report);
  if (!isDeepStrictEqual(orderOf(before), orderOf(after)))
    report('order-changed', undefined, `was ${orderOf(before)}, is ${orderOf(after)}`);
  if (after.maxLimit !== before.maxLimit && before.operations.has('list'))
    report(
      after.maxLimit < before.maxLimit ? 'limit-lowered' : 'limit-raised',
      undefined,
      `was ${before.maxLimit}, is ${after.maxLimit}`,
    );
  if (after.count !== before.count && before.operations.has('list'))
    report(
      COUNT_MODES.indexOf(after.count) > COUNT_MODES.indexOf(before.count) ? 'count-less-exact' : 'count-more-exact',
      undefined,
      `X-Total-Count was ${before.count}, is ${after.count}`,
    );
  if (!before.open && after.open) report('opened', undefined, 'unknown keys are now accepted');
  if (before.open && !after.open) report('closed', undefined, 'unknown keys are now rejected');
  comparePreconditions(pair, report);
  compareUnique(before, after, report);
  compareChecks(pair, report);
  compareVariants(before, after, report);
}

function comparePlace(before: RecordType, after: RecordType, report: Report): void {
  const isServed = before.operations.size > 0 && after.operations.size > 0;
  if (isServed && before.path !== after.path)
    report('path-changed', undefined, `was /api/${before.path}, is /api/${after.path}`);
  for (const operation of OPERATIONS) {
    if (before.operations.has(operation) && !after.operations.has(operation))
      report('operation-removed', operation, 'now returns 405 or 404');
    if (!before.operations.has(operation) && after.operations.has(operation))
      report('operation-added', operation, 'new');
  }
}

function compareIdentifier(
  { identifier: before }: RecordType,
  { identifier: after }: RecordType,
  report: Report,
): void {
  if (before.name !== after.name) report('identifier-renamed', after.name, `was "${before.name}"`);
  if (before.inRecord && !after.inRecord) report('identifier-hidden', after.name, 'records no longer show it');
  if (!before.inRecord && after.inRecord) report('identifier-shown', after.name, 'records now show it');
}

/** The name of the identifier is left out: renaming it is reported separately. */
function orderOf({ order }: RecordType): string {
  const terms = order.map(({ field, descending }) => `${field?.name ?? 'identifier'}${descending ? ' desc' : ''}`);
  const end = order.some(({ field }) => field === undefined) ? [] : ['identifier'];
  return [...terms, ...end].join(', ');
}

function comparePreconditions({ before, after }: TypePair, report: Report): void {
  if (before.preconditions === after.preconditions) return;
  const says = `was ${before.preconditions}, is ${after.preconditions}`;
  const kinds = {
    required: 'precondition-required',
    optional: 'precondition-relaxed',
    off: 'precondition-ignored',
  } as const satisfies Record<Preconditions, ChangeKind>;
  report(kinds[after.preconditions], undefined, says);
}

const namesOf = ({ members }: Index): string =>
  members
    .map(({ name }) => name)
    .toSorted()
    .join(', ');

function compareUnique(before: RecordType, after: RecordType, report: Report): void {
  const unique = ({ indexes }: RecordType): ReadonlySet<string> =>
    new Set(indexes.filter((index) => index.unique).map(namesOf));
  const [was, is] = [unique(before), unique(after)];
  for (const names of is) if (!was.has(names)) report('unique-added', names, 'values must now be unique');
  for (const names of was) if (!is.has(names)) report('unique-removed', names, 'values no longer need to be unique');
}

/** By the names that fields have now: one that accepts more or less is another check. */
function compareChecks({ before, after }: TypePair, report: Report): void {
  const { kept } = pairUp(before.fields, after.fields);
  const names = new Map(kept.map((pair) => [pair.before, pair.after.name]));
  const nowCalled = (field: Field): string => names.get(field) ?? field.name;
  const was = new Map(before.checks.map((check) => [ruleKey(ruleOf(check, nowCalled)), check]));
  const is = new Map(after.checks.map((check) => [ruleKey(ruleOf(check)), check]));
  for (const [key, check] of is)
    if (!was.has(key)) report('check-added', namesIn(check), `rejected otherwise: ${sentence(ruleOf(check))}`);
  for (const [key, check] of was)
    if (!is.has(key)) report('check-removed', namesIn(check), `no longer needed: ${sentence(ruleOf(check))}`);
}

const namesIn = ({ fields }: Check): string => fields.map(({ name }) => name).join(', ');

function compareVariants(before: RecordType, after: RecordType, report: Report): void {
  const { variants } = after;
  if (before.defaultVariant.name !== after.defaultVariant.name)
    report(
      'default-variant-changed',
      undefined,
      `was "${before.defaultVariant.name}", is "${after.defaultVariant.name}"`,
    );
  for (const name of variants.keys())
    if (!before.variants.has(name) && name !== '') report('variant-added', name, 'new');
  for (const variant of before.variants.values()) {
    const now = variants.get(variant.name);
    if (now) compareVariant(variant, now, before, after, report);
    else if (variant.name !== '') report('variant-removed', variant.name, 'now returns 400');
  }
}

function compareVariant(was: Variant, is: Variant, before: RecordType, after: RecordType, report: Report): void {
  if (was.name === '') return;
  const names = ({ fields }: Variant): ReadonlySet<string> => new Set(fields.map(({ name }) => name));
  const [had, has] = [names(was), names(is)];
  for (const name of had)
    if (!has.has(name) && after.fields.has(name)) report('variant-lacks-field', was.name, `no longer has ${name}`);
  for (const name of has)
    if (!had.has(name) && before.fields.has(name)) report('variant-has-field', was.name, `now has ${name}`);
}

/** What the descriptors leave to the rules says nothing of its own. */
function compareLabels(before: RecordType, after: RecordType, report: Report): void {
  if (!before.label && !after.label) return;
  const [was, is] = [before, after].map((type) => labelAmong(type, type.defaultVariant.fields));
  if (was?.name !== is?.name && was?.name !== is?.renamedFrom)
    report(
      'label-changed',
      undefined,
      `records were named by ${was?.name ?? 'none'}, are named by ${is?.name ?? 'none'}`,
    );
}

// Fields.

function compareFields(pair: TypePair, report: Report): void {
  const { kept, added, removed } = pairUp(pair.before.fields, pair.after.fields);
  for (const { before, after } of kept) compareField(before, after, report);
  for (const { name, required } of added) {
    if (required) report('required-field-added', name, 'create needs a value for this new field');
    else report('field-added', name, 'new');
  }
  for (const { name } of removed) report('field-removed', name, 'no longer returned or accepted');
}

function compareField(before: Field, after: Field, report: Report): void {
  const { name } = after;
  if (before.name !== name) report('field-renamed', name, `was "${before.name}"`);
  else compareTitles(titlesOf(before, after), titlesOf(after, before), name, report);
  if (before.multiline !== after.multiline)
    report('multiline-changed', name, `values ${after.multiline ? 'have' : 'no longer have'} several lines`);
  if (before.type !== after.type) report('field-type-changed', name, `was ${before.type.name}, is ${after.type.name}`);
  else compareShape(before, after, report);
  if (!before.caseless && after.caseless)
    report('case-ignored', name, 'values that differ only in case are now equal, and ordered alike');
  if (before.caseless && !after.caseless)
    report('case-regarded', name, 'values that differ only in case are no longer equal, nor ordered alike');
  if (!before.required && after.required) report('field-required', name, 'create now needs a value');
  if (before.required && !after.required) report('field-optional', name, 'create no longer needs a value');
  if (before.nullable && !after.nullable) report('null-refused', name, 'null is now rejected');
  if (!before.nullable && after.nullable) report('null-answered', name, 'responses may now contain null');
  if (!before.readOnly && after.readOnly) report('field-read-only', name, 'requests can no longer change it');
  if (before.readOnly && !after.readOnly) report('field-writable', name, 'requests can now change it');
  compareGenerated(before, after, report);
  const [was, is] = [defaultOf(before), defaultOf(after)];
  if (!isDeepStrictEqual(was, is)) report('default-changed', name, `was ${shown(was)}, is ${shown(is)}`);
}

/** The title, and those of the values that both have. */
const titlesOf = ({ title, valueTitles }: Field, other: Field): readonly string[] => [
  title,
  ...[...valueTitles].flatMap(([value, one]) => (other.valueTitles.has(value) ? [`${value}: ${one}`] : [])).toSorted(),
];

function compareGenerated({ generated: was }: Field, { generated: is, name }: Field, report: Report): void {
  if (was === is) return;
  if (is === undefined) report('field-not-generated', name, `was ${was}, and is what requests say`);
  else report('field-generated', name, `is now ${is}, whatever requests say`);
}

const defaultOf = ({ isNowByDefault, default: value = null }: Field): unknown => (isNowByDefault ? NOW : value);

const shown = (value: unknown): string => JSON.stringify(value ?? null);

function compareShape(before: Field, after: Field, report: Report): void {
  const { name, type } = after;
  if (!widens(type, before, after)) report('field-narrowed', name, `must now be ${type.expected(after)}`);
  else if (!widens(type, after, before)) report('field-widened', name, `may now be ${type.expected(after)}`);
}
