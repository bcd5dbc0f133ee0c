/** Creates Ajv instances: draft 2020-12, strict, all errors, with the formats and keywords of the field types. */
import type { Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import { isDate } from './date.ts';
import { formats } from './formats.ts';
import { compilePattern } from './patterns.ts';
import { isPointInTime } from './timestamp.ts';

/** RegExp may exhaust its stack on longer strings. */
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
  // Bounds of decimal strings. Other strings pass them, but fail the pattern.
  const least = (limit: string) => (value: string) => !(Number(value) < Number(limit));
  const most = (limit: string) => (value: string) => !(Number(value) > Number(limit));
  ajv.addKeyword({ keyword: 'x-minimum', type: 'string', schemaType: 'string', compile: least });
  ajv.addKeyword({ keyword: 'x-maximum', type: 'string', schemaType: 'string', compile: most });
  return ajv;
}
