/** The parameters that operations have in common: identifier, view, cursor, and request headers. */
import type { JsonObject } from '../json.ts';
import { MAX_INCLUDE_DEPTH, type RecordType } from '../model/model.ts';
import { oneInWords } from './names.ts';

const query = (name: string, description: string, more: JsonObject): JsonObject => ({
  name,
  in: 'query',
  description,
  ...more,
});

const header = (name: string, description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  name,
  in: 'header',
  description,
  schema,
});

/** The same for every type. */
export const SHARED_PARAMETERS = {
  after: query('after', 'The cursor of a `Link` header: the page behind it. Opaque, bound to order and filters.', {
    schema: { type: 'string' },
  }),
  before: query('before', 'The cursor of a `Link` header: the page in front of it.', { schema: { type: 'string' } }),
  'If-None-Match': header('If-None-Match', 'An entity tag of this URL: where it is still the same, the answer is 304.'),
  'If-Match': header(
    'If-Match',
    'The entity tag that GET of this URL answered: where it differs now, the answer is 412.',
  ),
  'If-Match-Required': {
    ...header('If-Match', 'The entity tag that GET of this URL answered: where it differs now, the answer is 412.'),
    required: true,
    example: '*',
  },
  'Idempotency-Key': header(
    'Idempotency-Key',
    'A text of your own for this request, such as a UUID: sent again under it, it is answered as before and makes nothing new.',
    { type: 'string', minLength: 1, maxLength: 255 },
  ),
  'X-Request-Id': header('X-Request-Id', 'Names this request in the log; it is answered again.', {
    type: 'string',
    maxLength: 128,
  }),
  'Prefer-Count': header('Prefer', '`count=none` leaves out X-Total-Count, which saves counting.', {
    type: 'string',
    examples: ['count=none'],
  }),
  'Prefer-Return': header('Prefer', '`return=minimal` answers 204 without the record.', {
    type: 'string',
    examples: ['return=minimal'],
  }),
} as const satisfies Readonly<Record<string, JsonObject>>;

export type SharedParameter = keyof typeof SHARED_PARAMETERS;

export const identifierParameter = (type: RecordType): JsonObject => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `The identifier of the ${oneInWords(type)}.`,
  schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  example: 1,
});

const names = (name: string, description: string): JsonObject =>
  query(name, description, {
    allowEmptyValue: true,
    schema: { type: 'string' },
  });

/** What of a record is shown; every operation has these. */
export function viewParameters(type: RecordType): readonly JsonObject[] {
  const relations = [...type.relations.keys()];
  const asked = [...type.relations.values()].filter(({ shown }) => !shown).map(({ name }) => `\`${name}\``);
  const fields = [type.identifier.name, ...type.fields.keys()].slice(0, 2).join(',');
  const include =
    relations.length === 0
      ? []
      : [
          names(
            'include',
            `The relations to show, instead of all on the first level${asked.length > 0 ? ` but ${asked.join(', ')}` : ''}: \`include=${relations.slice(0, 2).join(',')}\`. ` +
              `Dots lead further, through at most ${MAX_INCLUDE_DEPTH} relations; an empty value shows none.`,
          ),
        ];
  return [
    ...include,
    names('fields', `Only these fields are shown, the identifier besides: \`fields=${fields}\`.`),
    ...variantParameter(type),
  ];
}

function variantParameter({ variants, defaultVariant }: RecordType): readonly JsonObject[] {
  if (variants.size === 1) return [];
  const schema = { type: 'string', enum: [...variants.keys()], default: defaultVariant.name };
  return [query('variant', 'Which fields are shown, accepted, and filtered by.', { schema })];
}
