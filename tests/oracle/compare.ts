/** Compares an answer with an expectation: status, headers, body place by place, and the shape of problems (RFC 9457). */
import { isDeepStrictEqual } from 'node:util';
import { escapeStep, isObject, type JsonObject, type JsonValue, parsedJson } from '../../engine/json/json.ts';
import {
  bind,
  type Bindings,
  keysOf,
  rawText,
  readJson,
  reference,
  referenceName,
  type Tree,
  valueOf,
} from './template.ts';
import type { ExpectedProblem, Expectation } from './case.ts';
import type { ReceivedAnswer } from '../support/replaying.ts';

export interface Difference {
  /** Where: `status`, `header location`, `body/zone/zone_id`. */
  readonly place: string;
  readonly expected: string;
  readonly got: string;
}

const SHOWN = 400;

export function shown(value: JsonValue | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text;
}

const difference = (place: string, expected: JsonValue | undefined, got: JsonValue | undefined): Difference => ({
  place,
  expected: shown(expected),
  got: shown(got),
});

const differs = (place: string, expected: JsonValue | undefined, got: Tree | undefined): Difference =>
  difference(place, expected, got && (JSON.parse(got.text) as JsonValue));

function matchReference(name: string, got: Tree | undefined, place: string, bindings: Bindings): Difference[] {
  const known = bindings.get(name);
  if (known !== undefined) return match(known, got, place, bindings);
  const refusal = got === undefined ? 'a value' : bind(name, valueOf(got), bindings);
  return refusal === undefined ? [] : [{ place, expected: `${refusal} (${name})`, got: got?.text ?? 'nothing' }];
}

function matchArray(expected: readonly JsonValue[], got: Tree | undefined, place: string, bindings: Bindings) {
  const found = got?.items;
  if (!found) return [differs(place, expected, got)];
  return Array.from({ length: Math.max(expected.length, found.length) }, (_, index) =>
    matchMember(expected[index], found[index], `${place}/${index}`, bindings),
  ).flat();
}

function matchObject(expected: JsonObject, got: Tree | undefined, place: string, bindings: Bindings) {
  const found = got?.members;
  if (!found) return [differs(place, expected, got)];
  const keys = new Set([...Object.keys(expected).filter((key) => key !== '$keys'), ...found.keys()]);
  const differences = [...keys].flatMap((key) => {
    const wanted = Object.hasOwn(expected, key) ? expected[key] : undefined;
    return matchMember(wanted, found.get(key), `${place}/${escapeStep(key)}`, bindings);
  });
  const order = keysOf(expected);
  const given = [...found.keys()].filter((key) => order.includes(key));
  return [...differences, ...unlessEqual(`${place} keys`, order, given)];
}

const matchMember = (
  expected: JsonValue | undefined,
  got: Tree | undefined,
  place: string,
  bindings: Bindings,
): Difference[] => (expected === undefined ? [differs(place, undefined, got)] : match(expected, got, place, bindings));

const unlessEqual = (place: string, expected: JsonValue | undefined, got: JsonValue | undefined): Difference[] =>
  isDeepStrictEqual(expected, got) ? [] : [difference(place, expected, got)];

export function match(expected: JsonValue, got: Tree | undefined, place: string, bindings: Bindings): Difference[] {
  if (Array.isArray(expected)) return matchArray(expected, got, place, bindings);
  if (!isObject(expected))
    return got !== undefined && JSON.parse(got.text) === expected ? [] : [differs(place, expected, got)];
  const name = referenceName(expected);
  if (name !== undefined) return matchReference(name, got, place, bindings);
  const text = rawText(expected);
  if (text !== undefined) return text === got?.text ? [] : [{ place, expected: text, got: got?.text ?? 'nothing' }];
  return matchObject(expected, got, place, bindings);
}

const VARIABLE = /\{([^{}]+)\}/;
const PROBLEM_TYPE = 'application/problem+json';

/** A header may hold one variable, such as `/api/orders/{Order:1}`, or `{*}`, which stands for any word. */
function matchHeader(name: string, expected: string | null, got: string | undefined, bindings: Bindings): Difference[] {
  const [place, variable] = VARIABLE.exec(expected ?? '') ?? [];
  const wrong = [difference(`header ${name}`, expected ?? undefined, got)];
  if (expected === null || got === undefined || place === undefined || variable === undefined)
    return expected === (got ?? null) ? [] : wrong;
  const [head = '', tail = ''] = expected.split(place);
  const middle = got.slice(head.length, tail === '' ? undefined : -tail.length);
  if (variable === '*') return /^[\w.:/+=-]{1,128}$/.test(middle) ? [] : wrong;
  if (got !== head + middle + tail || !/^[\w.~%!'()*-]+$/.test(middle)) return wrong;
  const value = /^\d+$/.test(middle) ? Number(middle) : decodeURIComponent(middle);
  return match(reference(variable), tree(value), `header ${name}`, bindings);
}

const tree = (value: string | number): Tree => ({ text: JSON.stringify(value) });

/** A parameter may have several faults, in any order. */
const distinct = (names: readonly JsonValue[]): readonly string[] => [...new Set(names.map(String))].toSorted();

/** Where the errors of a problem are: their pointers, parameters or headers. */
const places = (problem: JsonObject, kind: string): readonly JsonValue[] =>
  (Array.isArray(problem['errors']) ? problem['errors'] : []).flatMap((one: JsonValue) =>
    isObject(one) ? (one[kind] ?? []) : [],
  );

const isText = (value: JsonValue | undefined): boolean => typeof value === 'string' && value !== '';

function matchProblem(
  expected: ExpectedProblem,
  status: number,
  { headers, text: body }: ReceivedAnswer,
  bindings: Bindings,
): Difference[] {
  const problem = parsedJson(body);
  if (!isObject(problem)) return [difference('body', 'a problem', body)];
  const { code, pointers, parameters } = expected;
  const parts: readonly (readonly [place: string, expected: JsonValue | undefined, got: JsonValue | undefined])[] = [
    ['header content-type', PROBLEM_TYPE, headers['content-type']?.split(';')[0]],
    ['problem type', `urn:problem:${code}`, problem['type']],
    ['problem message', problem['detail'], problem['message']],
    ['problem status', status, problem['status']],
    ['problem pointers', pointers, places(problem, 'pointer')],
    ['problem parameters', parameters && distinct(parameters), distinct(places(problem, 'parameter'))],
  ];
  return [
    ...['title', 'detail', 'instance']
      .filter((key) => !isText(problem[key]))
      .map((key) => difference(`problem ${key}`, 'a text', problem[key])),
    ...parts.flatMap(([place, wanted, got]) => (wanted === undefined ? [] : unlessEqual(place, wanted, got))),
    ...unnamed(expected, places(problem, 'records').flat(), bindings),
  ];
}

/** Records in the way that no error names. What the request itself would have made has no identifier yet. */
function unnamed(
  { records = [] }: ExpectedProblem,
  named: readonly JsonValue[],
  bindings: Bindings,
): readonly Difference[] {
  return records.flatMap(({ type, identifier }) => {
    const known = typeof identifier === 'number' ? identifier : bindings.get(identifier);
    const record = { type, identifier: known ?? null };
    return known === undefined || named.some((one) => isDeepStrictEqual(one, record))
      ? []
      : [difference('problem records', record, named)];
  });
}

function matchBody(expect: Expectation, answer: ReceivedAnswer, bindings: Bindings): Difference[] {
  if (expect.problem) return matchProblem(expect.problem, expect.status, answer, bindings);
  if (expect.body === undefined) return [];
  return match(expect.body, readJson(answer.text) ?? tree(answer.text), 'body', bindings);
}

export function compareAnswer(expect: Expectation, answer: ReceivedAnswer, bindings: Bindings): readonly Difference[] {
  if (answer.status !== expect.status)
    return [{ place: 'status', expected: String(expect.status), got: `${answer.status} ${answer.text.slice(0, 600)}` }];
  const headers = Object.entries(expect.headers ?? {}).flatMap(([name, value]) =>
    matchHeader(name, value, answer.headers[name], bindings),
  );
  return [...headers, ...matchBody(expect, answer, bindings)];
}
