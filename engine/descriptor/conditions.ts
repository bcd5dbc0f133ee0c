/** The conditions of checks: which fields they compare with what, and the grammar that they are written in. */
import { LIKE_DESCRIPTION, MAX_IN_VALUES, MAX_PATTERN_LENGTH, type OperatorName } from '../field-types/field-type.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { ConditionsDescriptor } from './descriptor.ts';
import { ref, strict } from './grammar-parts.ts';
import type { YamlPath } from './source.ts';

/** One comparison of a condition. */
export interface FieldComparison {
  readonly field: string;
  readonly operator: OperatorName;
  /** Null where another field is compared with. */
  readonly operand: JsonValue;
  readonly other: string | undefined;
  /** Of the operand, within the conditions. */
  readonly path: YamlPath;
}

/** The key of an operand that is a field. */
const FIELD = 'field';

/** Comparisons that hold together. */
export const comparisonsIn = (conditions: ConditionsDescriptor): readonly FieldComparison[] =>
  Object.entries(conditions).flatMap(([field, value]) => {
    if (!isObject(value)) return comparison(field, 'eq', value, [field]);
    return Object.entries(value).flatMap(([operator, operand]) =>
      comparison(field, operator as OperatorName, operand, [field, operator]),
    );
  });

/** None if the operand should be a field and does not name one, which the grammar reports. */
function comparison(
  field: string,
  operator: OperatorName,
  operand: JsonValue,
  path: YamlPath,
): readonly FieldComparison[] {
  if (!isObject(operand)) return [{ field, operator, operand, other: undefined, path }];
  const other = operand[FIELD];
  return typeof other === 'string' ? [{ field, operator, operand: null, other, path: [...path, FIELD] }] : [];
}

// The grammar.

/** Each is evaluated on every write that it concerns. */
const MAX_CHECKS = 100;

const scalar = (description: string): JsonObject => ({
  type: ['string', 'number', 'boolean', 'object'],
  if: { type: 'object' },
  then: strict({ [FIELD]: { type: 'string', description: 'Another field of the record.' } }, [FIELD]),
  description,
});

const wordsOf: Readonly<Record<OperatorName, JsonObject>> = {
  eq: scalar('Equal to the value, or to the field.'),
  ne: scalar('Not equal to the value, or to the field.'),
  lt: scalar('Less than the value, or the field.'),
  lte: scalar('Less than or equal to the value, or the field.'),
  gt: scalar('Greater than the value, or the field.'),
  gte: scalar('Greater than or equal to the value, or the field.'),
  in: {
    type: 'array',
    items: { type: ['string', 'number', 'boolean'] },
    minItems: 1,
    maxItems: MAX_IN_VALUES,
    uniqueItems: true,
    description: 'Equal to one of the values.',
  },
  like: {
    type: 'string',
    maxLength: MAX_PATTERN_LENGTH,
    description: LIKE_DESCRIPTION,
  },
  null: { type: 'boolean', description: 'true: the field is null. false: it is not.' },
};

const conditions = (description: string): JsonObject => ({
  type: 'object',
  minProperties: 1,
  additionalProperties: ref('comparison'),
  description,
});

export const checksGrammar: JsonObject = {
  type: 'array',
  maxItems: MAX_CHECKS,
  uniqueItems: true,
  items: strict(
    {
      must: conditions('By field, what must hold, in the words of list filters. A comparison with null holds.'),
      when: conditions(
        'Records that the check is about, in the same words. Default: all. null matches only "ne" and "null".',
      ),
      message: {
        type: 'string',
        minLength: 1,
        description: 'What clients read if a body breaks the check. Default: a sentence made of the conditions.',
      },
      at: {
        type: 'string',
        description: 'The field that errors point to. Default: the first one of "must".',
      },
    },
    ['must'],
  ),
  description:
    'Rules across the fields of a record. Writes that create a record, or change a field that a check names, must meet it.',
};

export const conditionDefinitions: JsonObject = {
  comparison: {
    type: ['string', 'number', 'boolean', 'object'],
    if: { type: 'object' },
    then: { ...strict(wordsOf), minProperties: 1 },
    description:
      'The value that the field equals, or operators, each with a value or a field: { gte: { field: min } }.',
  },
};
