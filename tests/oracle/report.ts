/** Results of a replay for people, for terminals, and for build servers. */
import { printable } from '../../engine/terminal.ts';
import type { Failure, Result } from './replay.ts';

function formatFailure({ request, differences }: Failure): string {
  const lines = differences.map(
    ({ place, expected, got }) => `    ${place}\n      expected ${expected}\n      got      ${got}`,
  );
  return [`  ${request}`, ...lines].join('\n');
}

/** A failed case, with every difference in the answer to the request that failed. */
export const formatFailures = ({ case: one, outcome, failures }: Result): string =>
  [`${one.type} ${one.title} (${one.group}): ${outcome}`, ...failures.map(formatFailure)].join('\n');

/** How many passed, failed and were skipped, by type. */
export function formatSummary(results: readonly Result[]): string {
  const types = [...new Set(results.map((result) => result.case.type))];
  const count = (type: string, outcome: Result['outcome']): number =>
    results.filter((result) => result.case.type === type && result.outcome === outcome).length;
  const width = Math.max(4, ...types.map((type) => type.length));
  const row = (name: string, cells: readonly (string | number)[]): string =>
    [name.padEnd(width), ...cells.map((cell) => String(cell).padStart(8))].join('');
  return [
    row('Type', ['passed', 'failed', 'skipped']),
    ...types.map((type) => row(type, [count(type, 'passed'), count(type, 'failed'), count(type, 'skipped')])),
  ].join('\n');
}

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

interface Terminal {
  readonly columns: number;
  write(text: string): unknown;
}

interface ProgressLine {
  show(result: Result, done: number, all: number): void;
  clear(): void;
}

const WIDTH = 30;
/** Milliseconds between two updates. */
const INTERVAL = 50;
const CLEAR_LINE = '\r\u001B[2K';

export function progressLine(terminal: Terminal): ProgressLine {
  let shownAt = 0;
  let failed = 0;
  const show = (result: Result, done: number, all: number): void => {
    if (result.outcome === 'failed') failed += 1;
    if (performance.now() - shownAt < INTERVAL && done < all) return;
    shownAt = performance.now();
    const bar = '█'.repeat(Math.round((done / all) * WIDTH)).padEnd(WIDTH, '·');
    const failures = failed > 0 ? `, ${failed} failed` : '';
    const line = `${bar} ${done}/${all}${failures}  ${result.case.type} ${result.case.title}`;
    terminal.write(CLEAR_LINE + printable(line).slice(0, Math.max(20, terminal.columns - 1)));
  };
  return { show, clear: () => void terminal.write(CLEAR_LINE) };
}
