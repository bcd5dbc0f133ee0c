/** Variants: the default is one of them, and each leaves a record that can be created. */
import { didYouMean } from '../../names.ts';
import type { TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import { type Check, unknownField } from './check.ts';

export const checkVariants: Check = (type) => {
  const { default: chosen, omit } = type.draft.variants ?? {};
  if (omit === undefined) return [];
  const names = Object.keys(omit);
  const unknown = chosen !== undefined && !names.includes(chosen);
  return [
    ...(unknown
      ? [
          finding(
            'unknown-variant',
            ['variants', 'default'],
            'value',
            `"omit" has no variant ${quoted(chosen)}${didYouMean(chosen, names) || `; it has ${names.join(', ')}`}`,
          ),
        ]
      : []),
    ...Object.entries(omit).flatMap(([variant, fields]) =>
      fields.flatMap((field, index) => checkOmitted(type, variant, field, index)),
    ),
  ];
};

function checkOmitted(type: TypeDraft, variant: string, name: string, index: number): readonly Finding[] {
  const path = ['variants', 'omit', variant, index];
  const field = type.fields.get(name);
  if (!field) return unknownField(type, name, [...type.fields.keys()], path);
  if (!field.required || !type.operations?.has('create')) return [];
  return [
    finding(
      'variant-omits-required',
      path,
      'value',
      `${quoted(name)} is required: without it variant ${quoted(variant)} could create nothing`,
    ),
  ];
}
