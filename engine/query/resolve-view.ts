/** `variant`, `include` and `fields`: what of a record is shown. */
import type { Fault } from '../problem.ts';
import { complainAbout, quote } from './faults.ts';
import type { View } from './list-query.ts';
import { type PreparedType, type PreparedVariant, prepareVariant } from './prepared-type.ts';
import { resolveFields } from './resolve-fields.ts';
import { resolveInclude } from './resolve-include.ts';
import { countRelations, createView } from './view.ts';

export function resolveVariant(prepared: PreparedType, name: string | undefined, faults: Fault[]): PreparedVariant {
  const { type, variants, defaultVariant, limits } = prepared;
  const variant = name === undefined ? defaultVariant : variants.get(name);
  if (variant && name !== '') return variant;
  const complain = complainAbout(faults, 'variant');
  if (variants.has('')) complain('unknown-variant', `${type.name} has no variants`);
  else
    complain(
      'unknown-variant',
      `${type.name} has no variant ${quote(name ?? '')}, only ${[...variants.keys()].join(', ')}`,
    );
  // Everything else is read as if no field were missing, so that no faults follow from this one.
  return prepareVariant(type, { name: '', fields: [...type.fields.values()] }, limits);
}

export function resolveView(prepared: PreparedVariant, plain: ReadonlyMap<string, string>, faults: Fault[]): View {
  const include = plain.get('include');
  const fields = plain.get('fields');
  if (include === undefined && fields === undefined) return prepared.view;
  const text = JSON.stringify([include, fields]);
  return prepared.views.get(text) ?? makeView(prepared, text, include, fields, faults);
}

function makeView(
  prepared: PreparedVariant,
  text: string,
  include: string | undefined,
  fields: string | undefined,
  faults: Fault[],
): View {
  const { type, variant, view: fallback, views, limits } = prepared;
  const faultsBefore = faults.length;
  const included = include === undefined ? undefined : resolveInclude(type, include, faults);
  const named = fields === undefined ? undefined : resolveFields(prepared, fields, included, faults);
  if (faults.length > faultsBefore) return fallback;
  const view = createView(type, variant, included, named);
  if (countRelations(view) > limits.maxIncludes) {
    const complain = complainAbout(faults, included ? 'include' : 'fields');
    complain('too-many', `At most ${limits.maxIncludes} relations are shown`);
    return fallback;
  }
  views.set(text, view);
  return view;
}
