/** Results of a suite for people and for build servers. */
import type { Result } from './run.ts';

/** What cases about no record type are listed under. */
const SERVICE = 'Service';
const nameOf = ({ case: { type } }: Result): string => type || SERVICE;

/** A failed case: the request, what was expected and what came. */
export const failureText = (result: Result): string =>
  [
    `${nameOf(result)}: ${result.case.title}`,
    ...result.request.split('\n').map((line) => `  ${line}`),
    ...result.differences.flatMap(({ place, expected, actual }) => [
      `    ${place}`,
      `      expected ${expected}`,
      `      actual   ${actual}`,
    ]),
  ].join('\n');

const count = (results: readonly Result[], outcome: Result['outcome']): number =>
  results.filter((result) => result.outcome === outcome).length;

/** How many passed, failed and were skipped, by type. */
export function summaryText(results: readonly Result[]): string {
  const types = Map.groupBy(results, nameOf);
  const width = Math.max(...[...types.keys()].map((type) => type.length), SERVICE.length);
  const row = (name: string, cells: readonly (string | number)[]): string =>
    [name.padEnd(width), ...cells.map((cell) => String(cell).padStart(8))].join('');
  const numbers = (all: readonly Result[]): readonly number[] =>
    (['passed', 'failed', 'skipped'] as const).map((outcome) => count(all, outcome));
  return [
    row('Type', ['passed', 'failed', 'skipped']),
    ...[...types].map(([type, all]) => row(type, numbers(all))),
  ].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** XML 1.0 cannot express most control characters. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(FORBIDDEN, '\uFFFD')
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);

const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(3);

function testcase(result: Result): string {
  const { case: one, outcome, milliseconds, request } = result;
  const open = `    <testcase classname="${escaped(nameOf(result))}" name="${escaped(one.title)}" time="${seconds(milliseconds)}"`;
  if (outcome === 'passed') return `${open}/>`;
  const [first = ''] = request.split('\n');
  const failure = `<failure message="${escaped(first)}">${escaped(failureText(result))}</failure>`;
  return `${open}>${outcome === 'skipped' ? '<skipped/>' : failure}</testcase>`;
}

export function junitXml(results: readonly Result[]): string {
  const suites = [...Map.groupBy(results, nameOf)].map(([type, all]) => {
    const time = seconds(all.reduce((sum, { milliseconds }) => sum + milliseconds, 0));
    const counts = `tests="${all.length}" failures="${count(all, 'failed')}" skipped="${count(all, 'skipped')}"`;
    const open = `  <testsuite name="${escaped(type)}" ${counts} time="${time}">`;
    return [open, ...all.map(testcase), '  </testsuite>'].join('\n');
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>', ''].join('\n');
}
