/** What changed fields mean for clients. */
import { isDeepStrictEqual } from 'node:util';
import { widens } from '../field-types/widens.ts';
import type { Field } from '../model/model.ts';
import type { Report, TypePair } from './change.ts';
import { pairUp } from './members.ts';

export function compareFields(pair: TypePair, report: Report): void {
  const { kept, added, removed } = pairUp(pair.before.fields, pair.after.fields);
  for (const { before, after } of kept) compareField(before, after, report);
  for (const { name, required } of added) {
    if (required) report('required-field-added', name, 'create needs a value of this new field');
    else report('field-added', name, 'new');
  }
  for (const { name } of removed) report('field-removed', name, 'neither answered nor accepted any more');
}

function compareField(before: Field, after: Field, report: Report): void {
  const { name } = after;
  if (before.name !== name) report('field-renamed', name, `was "${before.name}"`);
  if (before.type !== after.type) report('field-type-changed', name, `was ${before.type.name}, is ${after.type.name}`);
  else compareShape(before, after, report);
  if (!before.required && after.required) report('field-required', name, 'create needs a value now');
  if (before.required && !after.required) report('field-optional', name, 'create needs no value any more');
  if (before.nullable && !after.nullable) report('null-refused', name, 'null is refused now');
  if (!before.nullable && after.nullable) report('null-answered', name, 'answers may hold null now');
  if (!before.readOnly && after.readOnly) report('field-read-only', name, 'requests may not change it any more');
  if (before.readOnly && !after.readOnly) report('field-writable', name, 'requests may change it now');
  if (!isDeepStrictEqual(before.default ?? null, after.default ?? null))
    report('default-changed', name, `was ${shown(before.default)}, is ${shown(after.default)}`);
}

const shown = (value: unknown): string => JSON.stringify(value ?? null);

function compareShape(before: Field, after: Field, report: Report): void {
  const { name, type } = after;
  if (!widens(type, before, after)) report('field-narrowed', name, `now only ${type.expected(after)}`);
  else if (!widens(type, after, before)) report('field-widened', name, `now ${type.expected(after)}`);
}
