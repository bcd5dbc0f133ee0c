/** Turns Ajv's errors into faults: the location, what was expected, and the nearest valid name. */
import type { ErrorObject } from 'ajv';
import { firstByLocation } from '../document-order.ts';
import { escapeStep, unescapedSteps } from '../json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';
import { EXPECTED, LINK_ONLY, RECORD } from './body-schema.ts';

type Wording = (error: ErrorObject, index: number) => Fault | undefined;

/** Maximum characters of a key in a message. */
const MAX_SHOWN = 100;

/** For errors that only repeat that there are others. */
const silent: Wording = () => undefined;

const unknownKey = (pointer: string, key: string, suggestion = ''): Fault => ({
  pointer,
  code: 'unknown-key',
  message: `Unknown key "${shortened(key, MAX_SHOWN)}"${suggestion}`,
});

const reservedTag = (pointer: string): Fault => ({
  pointer,
  code: 'reserved-key',
  message: `The key "${ITEM_TAG}" is reserved for the entity tags of records in the array that a PATCH takes`,
});

const wordings: Readonly<Record<string, Wording>> = {
  if: silent,
  additionalProperties: ({ instancePath, params, parentSchema }, index) => {
    const key = String(params['additionalProperty']);
    const known = (parentSchema?.['properties'] as object | undefined) ?? {};
    const suggestion = index < MAX_ERRORS ? didYouMean(key, Object.keys(known)) : '';
    return unknownKey(`${instancePath}/${escapeStep(key)}`, key, suggestion);
  },
  'false schema': ({ instancePath }) => {
    const key = unescapedSteps(instancePath).at(-1) ?? '';
    return key === ITEM_TAG ? reservedTag(instancePath) : unknownKey(instancePath, key);
  },
  required: ({ instancePath, params, parentSchema }) => {
    const key = String(params['missingProperty']);
    const relation: unknown = parentSchema?.[LINK_ONLY];
    const message =
      typeof relation === 'string'
        ? `"${relation}" can only link an existing record here; send its "${key}"`
        : `"${key}" is required`;
    return { pointer: `${instancePath}/${escapeStep(key)}`, code: 'required', message };
  },
};

const other: Wording = ({ instancePath, keyword, data, message, parentSchema }) => {
  const expected: unknown = parentSchema?.[EXPECTED];
  const name = lastStep(instancePath);
  return {
    pointer: instancePath,
    code: data === null ? 'null' : keyword.replace(/^x-/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    message: typeof expected === 'string' ? `${name} must be ${expected}` : `${name} ${message ?? 'is not valid'}`,
  };
};

/** The errors of nested records, by record. */
export type ErrorsWithin = Pick<WeakMap<object, readonly ErrorObject[]>, 'get'>;

function collect(errors: readonly ErrorObject[], within: ErrorsWithin, place: string, faults: Fault[]): void {
  for (const error of errors) {
    const instancePath = place + error.instancePath;
    if (error.keyword === RECORD) collect(within.get(error.data as object) ?? [], within, instancePath, faults);
    else {
      const placed = place === '' ? error : { ...error, instancePath };
      const fault = (wordings[error.keyword] ?? other)(placed, faults.length);
      if (fault) faults.push(fault);
    }
  }
}

/** In Ajv's order; several may be about one location. */
export function faultsOf(
  errors: readonly ErrorObject[],
  within: ErrorsWithin = new WeakMap(),
  place = '',
): readonly Fault[] {
  const faults: Fault[] = [];
  collect(errors, within, place, faults);
  return faults;
}

/** The first fault of each location: the expected value covers all constraints. */
export function onePerLocation(faults: readonly Fault[]): readonly Fault[] {
  return [...firstByLocation(faults).values()];
}

/** The last key of the path, with the indices after it: `"tags[3]"`. */
function lastStep(path: string): string {
  if (path === '') return 'The body';
  const steps = unescapedSteps(path);
  const key = steps.findLastIndex((step) => !/^\d+$/.test(step));
  const indices = steps.slice(key + 1).map((index) => `[${index}]`);
  return `"${steps[key] ?? ''}${indices.join('')}"`;
}
