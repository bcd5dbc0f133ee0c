/** The one way to make an Ajv: draft 2020-12, strict, all errors, with the formats and keywords that field types use. */
import { str, type FuncKeywordDefinition, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

/** Bounds of decimal strings, compared as numbers: a double keeps the digits that a decimal may have. */
const decimalBounds: readonly FuncKeywordDefinition[] = [
  {
    keyword: 'x-minimum',
    type: 'string',
    schemaType: 'string',
    compile: (bound: string) => (value: string) => Number(value) >= Number(bound),
    error: { message: ({ schemaCode }) => str`must be at least ${schemaCode}` },
  },
  {
    keyword: 'x-maximum',
    type: 'string',
    schemaType: 'string',
    compile: (bound: string) => (value: string) => Number(value) <= Number(bound),
    error: { message: ({ schemaCode }) => str`must be at most ${schemaCode}` },
  },
];

/** Schemas are the engine's own and are not checked against the meta-schema, whose compilation would cost start time. */
export function createAjv(options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    meta: false,
    validateSchema: false,
    ...options,
  });
  addFormats(ajv);
  for (const keyword of decimalBounds) ajv.addKeyword(keyword);
  return ajv;
}
