/** The kinds of changes that `records diff` reports. */

/** Who may stop working: every client, those that create or write such records, or none. */
type Breaks = 'all' | 'creates' | 'writes' | 'none';

/** Every kind of change, and its description for people. */
export const changeKinds = {
  'type-added': ['none', 'new'],
  'type-removed': ['all', '{is}'],
  'path-changed': ['all', 'was /api/{was}, is /api/{is}'],
  'operation-added': ['none', 'new'],
  'operation-removed': ['all', 'now returns 405 or 404'],
  'identifier-renamed': ['all', 'was "{was}"'],
  'identifier-hidden': ['all', 'records no longer show it'],
  'identifier-shown': ['none', 'records now show it'],
  'title-changed': ['none', 'was {was}, is {is}'],
  'label-changed': ['none', 'records were named by {was}, are named by {is}'],
  'multiline-changed': ['none', 'values {is} several lines'],
  'order-changed': ['all', 'was {was}, is {is}'],
  'limit-lowered': ['all', 'was {was}, is {is}'],
  'limit-raised': ['none', 'was {was}, is {is}'],
  'count-less-exact': ['all', 'X-Total-Count was {was}, is {is}'],
  'count-more-exact': ['none', 'X-Total-Count was {was}, is {is}'],
  opened: ['none', 'unknown keys are now accepted'],
  closed: ['writes', 'unknown keys are now rejected'],
  'precondition-required': ['all', 'was {was}, is {is}'],
  'precondition-relaxed': ['none', 'was {was}, is {is}'],
  'precondition-ignored': ['all', 'was {was}, is {is}'],
  'unique-added': ['writes', 'values must now be unique'],
  'unique-removed': ['none', 'values no longer need to be unique'],
  'check-added': ['writes', 'rejected otherwise: {is}'],
  'check-removed': ['none', 'no longer needed: {was}'],
  'variant-added': ['none', 'new'],
  'variant-removed': ['all', 'now returns 400'],
  'default-variant-changed': ['all', 'was "{was}", is "{is}"'],
  'variant-lacks-field': ['all', 'no longer has {was}'],
  'variant-has-field': ['none', 'now has {is}'],
  'field-added': ['none', 'new'],
  'required-field-added': ['creates', 'create needs a value for this new field'],
  'field-removed': ['all', 'no longer returned or accepted'],
  'field-renamed': ['all', 'was "{was}"'],
  'case-ignored': ['all', 'values that differ only in case are now equal, and ordered alike'],
  'case-regarded': ['all', 'values that differ only in case are no longer equal, nor ordered alike'],
  'field-type-changed': ['all', 'was {was}, is {is}'],
  'field-narrowed': ['writes', 'must now be {is}'],
  'field-widened': ['none', 'may now be {is}'],
  'field-required': ['creates', 'create now needs a value'],
  'field-optional': ['none', 'create no longer needs a value'],
  'null-refused': ['writes', 'null is now rejected'],
  'null-answered': ['all', 'responses may now contain null'],
  'field-read-only': ['writes', 'requests can no longer change it'],
  'field-writable': ['none', 'requests can now change it'],
  'field-generated': ['writes', 'is now {is}, whatever requests say'],
  'field-not-generated': ['all', 'was {was}, and is what requests say'],
  'default-changed': ['none', 'was {was}, is {is}'],
  'relation-added': ['none', 'new'],
  'required-relation-added': ['creates', 'create needs this new relation'],
  'relation-removed': ['all', 'no longer returned or accepted'],
  'relation-renamed': ['all', 'was "{was}"'],
  'relation-kind-changed': ['all', '{is}'],
  'relation-type-changed': ['all', 'was {was}, is {is}'],
  'relation-required': ['all', 'every record now needs it'],
  'relation-optional': ['all', 'responses may now contain null'],
  'relation-link-only': ['writes', 'bodies can now only link related records here'],
  'relation-writable': ['none', 'bodies can now create and change related records here'],
  'relation-shows-less': ['all', 'no longer shows {was}'],
  'relation-shows-more': ['none', 'now shows {is}'],
  'relation-not-shown': ['all', 'responses contain it only if include or fields names it'],
  'relation-shown': ['none', 'responses now contain it by default'],
  'cycles-refused': ['writes', 'no record can be above itself now'],
  'cycles-accepted': ['all', 'a record can be above itself now'],
  'ownership-changed': ['writes', 'records left out are {is} deleted'],
  'deletion-changed': ['all', 'when the related record is deleted: was {was}, is {is}'],
} as const satisfies Record<string, readonly [breaks: Breaks, says: string]>;

export type ChangeKind = keyof typeof changeKinds;

export interface Change {
  readonly kind: ChangeKind;
  readonly breaking: boolean;
  readonly type: string;
  /** A field, a relation, an operation or a variant; undefined for the type itself. */
  readonly name: string | undefined;
  /** For people. */
  readonly description: string;
}
