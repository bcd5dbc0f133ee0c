/** Every status, problem code and header of the contract is expected by a generated case, and the cases expect nothing else. */
import { createDocument } from '../../engine/openapi/document.ts';
import { problemKinds } from '../../engine/problem.ts';
import { readSettings } from '../../engine/settings.ts';
import { type Case, deploymentOf } from '../../engine/suite/case.ts';
import { suiteOfAll } from '../../engine/suite/suite.ts';
import {
  codesOf,
  documentedAnswers,
  expectedAnswers,
  expectedHeaders,
  headersOfSources,
  type Promised,
  sentHeaders,
  words,
} from '../support/contract.ts';
import { loadModel } from '../support/model.ts';

/** A service of which everything is known, and which has everything that can be set up. */
const settings = {
  ...readSettings({}),
  corsOrigins: ['https://a.example'],
  rateLimit: 20,
  requestTimeout: 600,
  writeRows: 20,
};
const deployment = { ...deploymentOf(settings), guarded: true, hasReader: true };

function contractOf(directory: string) {
  const model = loadModel(directory);
  const documented = documentedAnswers(createDocument(model, { title: 'Records', version: '0.0.0' }));
  return { documented, cases: suiteOfAll(model, { deployment }) };
}

const shipped = contractOf('schema');
/** Has what no shipped type has: writes that need If-Match. */
const guarded = contractOf('tests/fixtures/schemas/preconditions-required');
const all = [...shipped.cases, ...guarded.cases];

/**
 * No input causes the first, and the second takes ten thousand records: see tests/query/summaries. The next ones need a
 * database that is slow or falls silent: see tests/storage/readers, tests/postgres/time and tests/postgres/outcomes. The last
 * one is about agents: see tests/mcp.
 */
const NEVER: readonly string[] = [
  'internal-error',
  'too-many-groups',
  'statement-timeout',
  'outcome-unknown',
  'origin-not-allowed',
];
const ONLY_NEVER: ReadonlySet<string> = new Set(['500', '504']);
/** Answers have it only where READ_URL is set: see tests/postgres/replicas. */
const OF_REPLICAS = 'x-position';
/** What a setting adds to answers that are not about it. */
const isOfSettings = ({ status, what }: Pick<Promised, 'status' | 'what'>): boolean =>
  what === OF_REPLICAS || (status !== '429' && /^ratelimit(?:-policy)?$/.test(what));
/** They have nothing to do with what is asked: any operation shows them. */
const OF_SERVICE: ReadonlySet<string> = new Set(['429', '503', '504', '507']);

const isExempt = ({ method, status, what }: Promised): boolean =>
  status === '500' ||
  isOfSettings({ status, what }) ||
  OF_SERVICE.has(status) ||
  what in problemKinds ||
  isOfManyRows(method, status);

/** Nothing but rows that are too many is wrong with a DELETE. */
const isOfManyRows = (method: string, status: string): boolean => method === 'DELETE' && status === '422';

/** What of the contract no case expects. */
function missing(documented: readonly Promised[], cases: readonly Case[]): readonly string[] {
  const expected = new Set(expectedAnswers(cases).map(words));
  return documented
    .filter((one) => !isExempt(one))
    .map(words)
    .filter((text) => !expected.has(text));
}

const withoutPath = ({ status, what }: Promised): string => `${status} ${what}`;

test.each([
  ['the shipped types', shipped],
  ['types that are written with If-Match', guarded],
])('%s: every status of each operation, with each of its headers', (_, { documented, cases }) => {
  expect(missing(documented, cases)).toEqual([]);
  expect(documented.length).toBeGreaterThan(100);
});

test('every status, header and problem code of every answer, at any operation', () => {
  const expected = new Set(expectedAnswers(shipped.cases).map(withoutPath));
  const documented = shipped.documented
    .filter((one) => !ONLY_NEVER.has(one.status) && !isOfSettings(one) && !NEVER.includes(one.what))
    .map(withoutPath);
  expect([...new Set(documented)].filter((one) => !expected.has(one))).toEqual([]);
});

test('every problem code', () => {
  expect([...codesOf(all), ...NEVER].toSorted()).toEqual(Object.keys(problemKinds).toSorted());
});

/** Requests have them, and answers. */
const BOTH_WAYS: ReadonlySet<string> = new Set(['accept', 'accept-encoding', 'content-encoding', 'content-type']);

/** Headers of agents. */
const OF_AGENTS = /^mcp-/;

/** Headers of the sources that no case is about. */
function unused(cases: readonly Case[]): readonly string[] {
  const [sent, expected] = [sentHeaders(cases), expectedHeaders(cases)];
  const ours = [...headersOfSources()].filter((name) => !OF_AGENTS.test(name));
  return ours.filter((name) =>
    BOTH_WAYS.has(name) ? !sent.has(name) || !expected.has(name) : !sent.has(name) && !expected.has(name),
  );
}

test('every header that the sources name', () => {
  expect(unused(all)).toEqual([]);
  expect(headersOfSources().size).toBeGreaterThan(30);
});

/** HTTP's own: the sources leave them to Node. */
const OF_HTTP = ['connection', 'transfer-encoding', 'access-control-request-method', 'access-control-request-headers'];

test('no header that the sources do not name', () => {
  const known = new Set([...headersOfSources(), ...OF_HTTP]);
  const used = new Set([...sentHeaders(all), ...expectedHeaders(all)]);
  expect([...used].filter((name) => !known.has(name))).toEqual([]);
});

test('no answer of a documented operation that the document does not have', () => {
  const documented = new Set(shipped.documented.map(words));
  const operations = new Set(shipped.documented.map(({ method, path }) => `${method} ${path}`));
  const surplus = expectedAnswers(shipped.cases)
    .filter(({ method, path }) => operations.has(`${method} ${path}`))
    .filter(({ what }) => what === '' || what in problemKinds)
    .map(words)
    .filter((text) => !documented.has(text));
  expect([...new Set(surplus)]).toEqual([]);
});

describe('a kind of case that is left out is missed', () => {
  const gone = (group: string): readonly Case[] => all.filter((one) => one.group !== group);
  const unmet = (cases: readonly Case[]): number => {
    const codes = codesOf(cases);
    const uncoded = Object.keys(problemKinds).filter((code) => !NEVER.includes(code) && !codes.has(code));
    return missing(shipped.documented, cases).length + uncoded.length + unused(cases).length;
  };

  test('nothing is missed where none is', () => expect(unmet(all)).toBe(0));

  test.each([
    'access',
    'batches',
    'compression',
    'conflicts',
    'cors',
    'identifiers',
    'limits',
    'media types',
    'positions',
    'preconditions',
    'preferences',
    'rates',
    'storage',
    'wire',
  ])('%s', (group) => expect(unmet(gone(group))).toBeGreaterThan(0));
});
