/** Results of a replay as JUnit XML, which build servers show. */
import { formatFailures } from './report.ts';
import type { Result } from './replay.ts';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** XML 1.0 has no way to write most control characters. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(FORBIDDEN, '\uFFFD')
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);

const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(3);

function testcase(result: Result): string {
  const { case: one, outcome, milliseconds } = result;
  const open = `    <testcase classname="${escaped(one.type)}.${escaped(one.group)}" name="${escaped(one.title)}" time="${seconds(milliseconds)}"`;
  if (outcome === 'passed') return `${open}/>`;
  const inner =
    outcome === 'skipped'
      ? '<skipped/>'
      : `<failure message="${escaped(result.failures[0]?.request ?? '')}">${escaped(formatFailures(result))}</failure>`;
  return `${open}>${inner}</testcase>`;
}

function testsuite(type: string, results: readonly Result[]): string {
  const count = (outcome: Result['outcome']): number => results.filter((result) => result.outcome === outcome).length;
  const time = seconds(results.reduce((sum, { milliseconds }) => sum + milliseconds, 0));
  const attributes = `name="${escaped(type)}" tests="${results.length}" failures="${count('failed')}" skipped="${count('skipped')}" time="${time}"`;
  return [`  <testsuite ${attributes}>`, ...results.map(testcase), '  </testsuite>'].join('\n');
}

export function junitXml(results: readonly Result[]): string {
  const types = [...new Set(results.map((result) => result.case.type))];
  const suites = types.map((type) =>
    testsuite(
      type,
      results.filter((result) => result.case.type === type),
    ),
  );
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>', ''].join('\n');
}
