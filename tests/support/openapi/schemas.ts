/** The schemas inside of an OpenAPI document, as validators. */
import type { ValidateFunction } from 'ajv';
import { createAjv } from '../../../engine/field-types/ajv-keywords.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../../../engine/json/json.ts';

const DOCUMENT = 'openapi';

export interface Schemas {
  /** What stands at the path, references followed. */
  at(...path: readonly string[]): JsonValue | undefined;
  /** Why a value does not fit the schema at the path; empty where it does. */
  faults(value: unknown, ...path: readonly string[]): readonly string[];
}

export function schemasOf(document: JsonObject): Schemas {
  // Words of OpenAPI around the schemas are none of JSON Schema's.
  const ajv = createAjv({ strict: false });
  for (const format of ['int32', 'int64']) ajv.addFormat(format, { type: 'number', validate: Number.isInteger });
  ajv.addSchema(document, DOCUMENT);
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (pointer: string): ValidateFunction => {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `${DOCUMENT}#${encodeURI(pointer)}` });
    compiled.set(pointer, known);
    return known;
  };
  return {
    at: (...path) => path.reduce<JsonValue | undefined>((value, step) => member(document, value, step), document),
    faults: (value, ...path) => {
      const validate = validatorOf(pointerOf(document, path));
      if (validate(value)) return [];
      return (validate.errors ?? []).map(({ instancePath, message, params }) => {
        return `${instancePath} ${message} ${JSON.stringify(params)}`;
      });
    },
  };
}

const referenced = (document: JsonObject, value: JsonValue | undefined): JsonValue | undefined =>
  isObject(value) && typeof value['$ref'] === 'string' ? followed(document, value['$ref']) : value;

const followed = (document: JsonObject, reference: string): JsonValue | undefined =>
  reference
    .slice(2)
    .split('/')
    .reduce<JsonValue | undefined>((value, step) => (isObject(value) ? value[step] : undefined), document);

function member(document: JsonObject, value: JsonValue | undefined, step: string): JsonValue | undefined {
  const holder = referenced(document, value);
  return referenced(
    document,
    Array.isArray(holder) ? holder[Number(step)] : isObject(holder) ? holder[step] : undefined,
  );
}

/** The pointer of what the path leads to, when references on the way are followed. */
function pointerOf(document: JsonObject, path: readonly string[]): string {
  let pointer = '';
  let value: JsonValue | undefined = document;
  for (const step of path) {
    if (isObject(value) && typeof value['$ref'] === 'string') {
      pointer = value['$ref'].slice(1);
      value = followed(document, value['$ref']);
    }
    pointer += `/${escapeStep(step)}`;
    value = isObject(value) ? value[step] : undefined;
  }
  return pointer;
}
