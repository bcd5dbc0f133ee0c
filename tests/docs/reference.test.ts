/** Pages that are written by `npm run docs` are current, the others have every code, and the links of all pages lead somewhere. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedPages } from '../../deploy/docs.ts';
import { severities } from '../../engine/diagnostic.ts';
import { problemKinds } from '../../engine/problem.ts';
import { kindOf, type StepCode, stepKinds } from '../../engine/storage/migrate/steps.ts';
import { settingsTable } from '../../engine/settings/settings.ts';

const bare = (text: string): string => text.replaceAll(/[\s-]+/g, ' ');

test.each(Object.entries(generatedPages()))('docs/reference/%s is as "npm run docs" writes it', (name, text) => {
  expect(bare(readFileSync(join('docs/reference', name), 'utf8'))).toBe(bare(text));
});

const rowsOf = (name: string): readonly string[] =>
  readFileSync(join('docs/reference', name), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.replaceAll(/[`\s]/g, '').split('|', 3).join(' ').trim());

test('docs/reference/settings.md has every setting with its default', () => {
  expect(rowsOf('settings.md')).toEqual(Object.values(settingsTable).map((one) => `${one.name} ${one.default}`));
});

test('docs/reference/problems.md has every code with its status', () => {
  const expected = Object.entries(problemKinds).map(([code, { status }]) => `${code} ${status}`);
  expect(rowsOf('problems.md')).toEqual(expected);
});

test('docs/reference/diagnostics.md has every code', () => {
  const expected = Object.entries(severities).map(([code, severity]) =>
    severity === 'error' ? code : `${code}(warning)`,
  );
  expect(rowsOf('diagnostics.md').map((row) => row.split(' ')[0])).toEqual(expected);
});

test('docs/reference/changes.md has every step with its mark', () => {
  const text = readFileSync('docs/reference/changes.md', 'utf8').split('## Steps')[1] ?? '';
  const rows = text.split('\n').filter((line) => /^\| (none|`[!-]`) /.test(line));
  const told = rows.flatMap((row) => {
    const [, mark = '', codes = ''] = row.split('|').map((cell) => cell.replaceAll('`', '').trim());
    return codes.split(' ').map((code) => `${mark} ${code}`);
  });
  const marked = (Object.keys(stepKinds) as StepCode[]).map((code) => {
    const mark = kindOf({ code }).isDrop ? '-' : kindOf({ code }).risk === 'safe' ? 'none' : '!';
    return `${mark} ${code}`;
  });
  expect(told.toSorted()).toEqual(marked.toSorted());
});

const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

function leadsSomewhere(file: string, target: string): boolean {
  const [name = '', heading] = target.split('#');
  const path = name === '' ? file : join(dirname(file), name);
  if (heading === undefined || !existsSync(path)) return existsSync(path);
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].some(([, text = '']) => anchor(text) === heading);
}

test.each(['README.md', 'SECURITY.md', ...globSync('docs/**/*.md').toSorted()])('the links of %s', (file) => {
  const text = readFileSync(file, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  const targets = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
  expect(targets.filter((target) => !target.startsWith('http') && !leadsSomewhere(file, target))).toEqual([]);
});
