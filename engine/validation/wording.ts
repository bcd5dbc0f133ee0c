/** Words the errors of Ajv: with a pointer, the expected value, and the nearest valid name. */
import type { ErrorObject } from 'ajv';
import { escapeStep, unescapedSteps } from '../json/json.ts';
import { ITEM_TAG } from '../model/model.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';
import { EXPECTED, LINK_ONLY, RECORD } from './body-schema.ts';

/** The errors of nested records, by record. */
export const errorsWithin = new WeakMap<object, readonly ErrorObject[]>();

/** Returns faults in Ajv's order, maybe several for a location. `suggests`: with suggestions. */
export function faultsOf(errors: readonly ErrorObject[], prefix = '', suggests = true): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [error, path] of unfolded(errors, prefix)) {
    const fault = (wordings[error.keyword] ?? other)(error, path, suggests && faults.length < MAX_ERRORS);
    if (fault) faults.push(fault);
  }
  return faults;
}

/** Yields errors with paths, and the inner errors instead of the error of a nested record. */
function* unfolded(errors: readonly ErrorObject[], prefix: string): Generator<readonly [ErrorObject, path: string]> {
  for (const error of errors) {
    const path = prefix + error.instancePath;
    if (error.keyword === RECORD) yield* unfolded(errorsWithin.get(error.data as object) ?? [], path);
    else yield [error, path];
  }
}

type Wording = (error: ErrorObject, path: string, suggests: boolean) => Fault | undefined;

const wordings: Readonly<Record<string, Wording>> = {
  // Ajv reports `if` besides the more specific errors of the branch.
  if: () => undefined,
  additionalProperties: ({ params, parentSchema }, path, suggests) => {
    const key = String(params['additionalProperty']);
    const known = (parentSchema?.['properties'] as object | undefined) ?? {};
    const suggestion = suggests ? didYouMean(key, Object.keys(known)) : '';
    return unknownKey(`${path}/${escapeStep(key)}`, key, suggestion);
  },
  'false schema': (_, path) => {
    const key = unescapedSteps(path).at(-1) ?? '';
    if (key !== ITEM_TAG) return unknownKey(path, key);
    const message = `The key "${ITEM_TAG}" is reserved for the entity tags of records in the array that a PATCH takes`;
    return { pointer: path, code: 'reserved-key', message };
  },
  required: ({ params, parentSchema }, path) => {
    const key = String(params['missingProperty']);
    const relation: unknown = parentSchema?.[LINK_ONLY];
    const message =
      typeof relation === 'string'
        ? `"${relation}" can only link an existing record here; send its "${key}"`
        : `"${key}" is required`;
    return { pointer: `${path}/${escapeStep(key)}`, code: 'required', message };
  },
};

const other: Wording = ({ keyword, data, message, parentSchema }, path) => {
  const expected: unknown = parentSchema?.[EXPECTED];
  const name = path === '' ? 'The body' : `"${lastStep(path)}"`;
  return {
    pointer: path,
    code: data === null ? 'null' : keyword.replace(/^x-/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    message: typeof expected === 'string' ? `${name} must be ${expected}` : `${name} ${message ?? 'is not valid'}`,
  };
};

/** The last key of the path, with the indices after it: `tags[3]`. */
function lastStep(path: string): string {
  const steps = unescapedSteps(path);
  const last = steps.findLastIndex((step) => !/^\d+$/.test(String(step)));
  const indices = steps.slice(last + 1).map((index) => `[${index}]`);
  return `${steps[last] ?? ''}${indices.join('')}`;
}

export const unknownKey = (pointer: string, key: string, suggestion = ''): Fault => ({
  pointer,
  code: 'unknown-key',
  message: `Unknown key "${shortened(key)}"${suggestion}`,
});
