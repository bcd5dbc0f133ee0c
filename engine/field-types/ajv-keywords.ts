/** The one way to make an Ajv: draft 2020-12, strict, all errors, with the formats and keywords that field types use. */
import { type FuncKeywordDefinition, type Options, str } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { AddedFormat, FormatValidator } from 'ajv/dist/types';
import { compilePattern } from '../patterns/compile.ts';

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

/** Characters of a text that has a format: RegExp keeps a stack of the ways to go back, which has an end. */
const MAX_FORMATTED = 65_536;

/** undefined for formats of numbers. */
function validatorOf(format: AddedFormat | undefined): FormatValidator<string> | undefined {
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === 'function') return format as FormatValidator<string>;
  if (typeof format !== 'object' || format.type === 'number') return undefined;
  return validatorOf(format.validate as AddedFormat);
}

function addLimitedFormats(ajv: Ajv2020): void {
  addFormats(ajv);
  for (const [name, format] of Object.entries(ajv.formats)) {
    const isValid = validatorOf(format);
    if (isValid) ajv.addFormat(name, (text: string) => text.length <= MAX_FORMATTED && isValid(text));
  }
}

/** Ajv asks for the code only where it writes modules. */
const inLinearTime = Object.assign((pattern: string) => compilePattern(pattern), { code: 'new RegExp' });

/** Schemas are the engine's own and are not checked against the meta-schema, whose compilation would cost start time. */
export function createAjv(options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    meta: false,
    validateSchema: false,
    code: { regExp: inLinearTime },
    ...options,
  });
  addLimitedFormats(ajv);
  for (const keyword of decimalBounds) ajv.addKeyword(keyword);
  return ajv;
}
