/** Creates every Ajv: draft 2020-12, strict, all errors, with the formats and keywords of the field types. */
import { type FuncKeywordDefinition, type Options, str } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import { isDate } from './date.ts';
import { formats } from './formats.ts';
import { compilePattern } from './patterns.ts';
import { isPointInTime } from './timestamp.ts';

/** A bound of decimals, which are strings. */
const bound = (
  keyword: string,
  words: string,
  isWithin: (value: number, limit: number) => boolean,
): FuncKeywordDefinition => ({
  keyword,
  type: 'string',
  schemaType: 'string',
  compile: (limit: string) => (value: string) => isWithin(Number(value), Number(limit)),
  error: { message: ({ schemaCode }) => str`must be ${words} ${schemaCode}` },
});

/** RegExp may exhaust its backtracking stack on longer texts. */
const MAX_FORMATTED = 65_536;

const inLinearTime = Object.assign((pattern: string) => compilePattern(pattern), { code: 'new RegExp' });

/** The engine generates all schemas: checking them against the meta-schema would only slow down the start. */
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
  for (const [name, { isValid }] of Object.entries(formats))
    ajv.addFormat(name, (text: string) => text.length <= MAX_FORMATTED && isValid(text));
  ajv.addFormat('date', isDate);
  ajv.addFormat('date-time', isPointInTime);
  // The pattern refuses a text that is not a number; the bounds let it pass.
  ajv.addKeyword(bound('x-minimum', 'at least', (value, least) => !(value < least)));
  ajv.addKeyword(bound('x-maximum', 'at most', (value, most) => !(value > most)));
  return ajv;
}
