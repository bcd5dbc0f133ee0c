/** What changed types mean for clients, their fields and relations apart. */
import { isDeepStrictEqual } from 'node:util';
import { OPERATIONS } from '../descriptor/descriptor.ts';
import type { Index, RecordType, Variant } from '../model/model.ts';
import type { Report, TypePair } from './change.ts';

export function compareType(pair: TypePair, report: Report): void {
  const { before, after } = pair;
  comparePlace(before, after, report);
  compareIdentifier(before, after, report);
  if (!isDeepStrictEqual(orderOf(before), orderOf(after)))
    report('order-changed', undefined, `was ${orderOf(before)}, is ${orderOf(after)}`);
  if (after.maxLimit !== before.maxLimit && before.operations.has('list'))
    report(
      after.maxLimit < before.maxLimit ? 'limit-lowered' : 'limit-raised',
      undefined,
      `was ${before.maxLimit}, is ${after.maxLimit}`,
    );
  if (!before.open && after.open) report('opened', undefined, 'keys of any name are kept now');
  if (before.open && !after.open) report('closed', undefined, 'keys that no field names are refused now');
  comparePreconditions(pair, report);
  compareUnique(before, after, report);
  compareVariants(before, after, report);
}

function comparePlace(before: RecordType, after: RecordType, report: Report): void {
  const isServed = before.operations.size > 0 && after.operations.size > 0;
  if (isServed && before.path !== after.path)
    report('path-changed', undefined, `was /api/${before.path}, is /api/${after.path}`);
  for (const operation of OPERATIONS) {
    if (before.operations.has(operation) && !after.operations.has(operation))
      report('operation-removed', operation, 'answered with 405 or 404 now');
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
  if (before.inRecord && !after.inRecord) report('identifier-hidden', after.name, 'records do not show it any more');
  if (!before.inRecord && after.inRecord) report('identifier-shown', after.name, 'records show it now');
}

/** The identifier's own name is another matter. */
function orderOf({ order }: RecordType): string {
  const terms = order.map(({ field, descending }) => `${field?.name ?? 'identifier'}${descending ? ' desc' : ''}`);
  const end = order.some(({ field }) => field === undefined) ? [] : ['identifier'];
  return [...terms, ...end].join(', ');
}

function comparePreconditions({ before, after }: TypePair, report: Report): void {
  if (before.preconditions === after.preconditions) return;
  const says = `was ${before.preconditions}, is ${after.preconditions}`;
  report(after.preconditions === 'required' ? 'precondition-required' : 'precondition-relaxed', undefined, says);
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
  for (const names of is)
    if (!was.has(names)) report('unique-added', names, 'no two records may have the same any more');
  for (const names of was) if (!is.has(names)) report('unique-removed', names, 'records may have the same now');
}

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
    else if (variant.name !== '') report('variant-removed', variant.name, 'answered with 400 now');
  }
}

function compareVariant(was: Variant, is: Variant, before: RecordType, after: RecordType, report: Report): void {
  if (was.name === '') return;
  const names = ({ fields }: Variant): ReadonlySet<string> => new Set(fields.map(({ name }) => name));
  const [had, has] = [names(was), names(is)];
  for (const name of had)
    if (!has.has(name) && after.fields.has(name)) report('variant-lacks-field', was.name, `no longer has ${name}`);
  for (const name of has)
    if (!had.has(name) && before.fields.has(name)) report('variant-has-field', was.name, `has ${name} now`);
}
