/** Creates every Ajv: draft 2020-12, strict, all errors, with the formats and keywords of the field types. */
import { type FuncKeywordDefinition, type Options, str } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import { isDate } from './date.ts';
import { formats } from './formats.ts';
import { compilePattern } from './patterns.ts';
import { isPointInTime } from './timestamp.ts';

/** Decimals as numbers, whose digits a double holds, and points in time as milliseconds. */
const comparable = (text: string): number => (text.includes('T') ? Date.parse(text) : Number(text));

/** Bounds of strings that stand for decimals or points in time. */
const stringBounds: readonly FuncKeywordDefinition[] = [
  {
    keyword: 'x-minimum',
    type: 'string',
    schemaType: 'string',
    compile: (bound: string) => {
      const least = comparable(bound);
      return (value: string) => !(comparable(value) < least);
    },
    error: { message: ({ schemaCode }) => str`must be at least ${schemaCode}` },
  },
  {
    keyword: 'x-maximum',
    type: 'string',
    schemaType: 'string',
    compile: (bound: string) => {
      const most = comparable(bound);
      return (value: string) => !(comparable(value) > most);
    },
    error: { message: ({ schemaCode }) => str`must be at most ${schemaCode}` },
  },
];

/** Maximum characters of a text with a format: on longer ones, RegExp may exhaust its backtracking stack. */
const MAX_FORMATTED = 65_536;

/** Filters parse dates and points in time by the same functions. */
function addFormats(ajv: Ajv2020): void {
  for (const [name, { isValid }] of Object.entries(formats))
    ajv.addFormat(name, (text: string) => text.length <= MAX_FORMATTED && isValid(text));
  ajv.addFormat('date', isDate);
  ajv.addFormat('date-time', isPointInTime);
}

/** Ajv reads `code` only when it generates modules. */
const inLinearTime = Object.assign((pattern: string) => compilePattern(pattern), { code: 'new RegExp' });

/** The engine generates all schemas, so they are not checked against the meta-schema, which would slow down the start. */
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
  addFormats(ajv);
  for (const keyword of stringBounds) ajv.addKeyword(keyword);
  return ajv;
}
