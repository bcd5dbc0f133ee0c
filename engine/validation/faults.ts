/** Turns Ajv's errors into faults: the location, what was expected, and the nearest valid name. */
import type { ErrorObject } from 'ajv';
import { escapeStep, unescapedStep, unescapedSteps } from '../json/json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';
import { EXPECTED, LINK_ONLY, RECORD } from './body-schema.ts';

/** `path`: where the error is in the body. `isTold`: whether a response may list it. */
type Wording = (error: ErrorObject, path: string, isTold: boolean) => Fault | undefined;

/** For errors that only repeat that there are others. */
const silent: Wording = () => undefined;

export const unknownKey = (pointer: string, key: string, suggestion = ''): Fault => ({
  pointer,
  code: 'unknown-key',
  message: `Unknown key "${shortened(key)}"${suggestion}`,
});

const reservedTag = (pointer: string): Fault => ({
  pointer,
  code: 'reserved-key',
  message: `The key "${ITEM_TAG}" is reserved for the entity tags of records in the array that a PATCH takes`,
});

const wordings: Readonly<Record<string, Wording>> = {
  if: silent,
  additionalProperties: ({ params, parentSchema }, path, isTold) => {
    const key = String(params['additionalProperty']);
    const known = (parentSchema?.['properties'] as object | undefined) ?? {};
    const suggestion = isTold ? didYouMean(key, Object.keys(known)) : '';
    return unknownKey(`${path}/${escapeStep(key)}`, key, suggestion);
  },
  'false schema': (_, path) => {
    const key = unescapedSteps(path).at(-1) ?? '';
    return key === ITEM_TAG ? reservedTag(path) : unknownKey(path, key);
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
  const name = lastStep(path);
  return {
    pointer: path,
    code: data === null ? 'null' : keyword.replace(/^x-/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    message: typeof expected === 'string' ? `${name} must be ${expected}` : `${name} ${message ?? 'is not valid'}`,
  };
};

/** The errors of nested records, by record. */
export type ErrorsWithin = Pick<WeakMap<object, readonly ErrorObject[]>, 'get'>;

/** The location of a record's errors, and whether the response still has room for them. */
interface FaultsContext {
  readonly within: ErrorsWithin;
  readonly place: string;
  readonly isTold: boolean;
}

const WHOLE_BODY: FaultsContext = { within: new WeakMap(), place: '', isTold: true };

/** In Ajv's order; several may be about one location. */
export function faultsOf(errors: readonly ErrorObject[], context = WHOLE_BODY): Fault[] {
  const faults: Fault[] = [];
  const { within, isTold } = context;
  for (const [error, path] of unfolded(errors, within, context.place)) {
    const fault = (wordings[error.keyword] ?? other)(error, path, isTold && faults.length < MAX_ERRORS);
    if (fault) faults.push(fault);
  }
  return faults;
}

/** The errors with their paths; in place of those of nested records, what is wrong within them. */
function* unfolded(
  errors: readonly ErrorObject[],
  within: ErrorsWithin,
  place: string,
): Generator<readonly [ErrorObject, path: string]> {
  for (const error of errors) {
    const path = place + error.instancePath;
    if (error.keyword === RECORD) yield* unfolded(within.get(error.data as object) ?? [], within, path);
    else yield [error, path];
  }
}

const INDEX = /^\d+$/;

/** The last key of the path, with the indices after it: `"tags[3]"`. */
function lastStep(path: string): string {
  if (path === '') return 'The body';
  let indices = '';
  for (let end = path.length; end > 0;) {
    const slash = path.lastIndexOf('/', end - 1);
    const step = path.slice(slash + 1, end);
    if (!INDEX.test(step)) return `"${unescapedStep(step)}${indices}"`;
    indices = `[${step}]${indices}`;
    end = slash;
  }
  return `"${indices}"`;
}
