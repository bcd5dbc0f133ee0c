/** The manual of the descriptors against the code, both ways: words, field types, codes, and every YAML block. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkSchema } from '../engine/check.ts';
import { FIELD_WORDS } from '../engine/descriptor/descriptor.ts';
import { formatDiagnostics } from '../engine/descriptor/report.ts';
import { diagnosticCodes } from '../engine/diagnostic.ts';
import { fieldTypes } from '../engine/field-types/registry.ts';
import { readBlocks } from './support/examples.ts';
import { codeItems, codeRows, section } from './support/markdown.ts';

const manual = readFileSync('schema/README.md', 'utf8');
const source = readFileSync('engine/descriptor/descriptor.ts', 'utf8');
const sorted = (names: Iterable<string>): readonly string[] => [...names].toSorted();

/** The members of an interface of descriptor.ts, and those of the mappings that it holds. */
function members(name: string): { readonly own: readonly string[]; readonly inner: readonly string[] } {
  const text = new RegExp(`^(?:export )?interface ${name} {\\n([\\s\\S]*?)^}`, 'm').exec(source)?.[1] ?? '';
  const found = (pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1] ?? '');
  return { own: found(/^ {2}readonly (\w+)\??:/gm), inner: found(/[{;] readonly (\w+)\??:/g) };
}

const GRAMMAR = [
  ['## The record type', members('Descriptor').own],
  ['## Fields', FIELD_WORDS],
  ['## Relations', members('RelationDescriptor').own],
] as const;

/** Rows of tables that explain no word. */
const KINDS = new Set(['belongsTo', 'hasOne', 'hasMany', 'manyToMany']);

describe('words of the grammar', () => {
  test.each(GRAMMAR)('%s names each word, and no other', (heading, words) => {
    const documented = codeRows(section(manual, heading)).map(({ name }) => name);
    expect(sorted(documented.filter((name) => !KINDS.has(name)))).toEqual(sorted(words));
  });

  test.each(GRAMMAR)('%s has an example of each word', (heading) => {
    const rows = codeRows(section(manual, heading)).filter(({ name }) => !KINDS.has(name));
    const examples = rows.map(({ cells }): Record<string, unknown> => parse((cells.at(-1) ?? '').replaceAll('`', '')));
    expect(examples.map((example) => Object.keys(example))).toEqual(rows.map(({ name }) => [name]));
  });

  test('names what its mappings hold', () => {
    const code = [...manual.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '').join(' ');
    const words = [...members('Descriptor').inner, ...members('IdentifierDescriptor').own];
    expect(words).toEqual(expect.arrayContaining(['inRecord', 'maxLimit', 'omit']));
    expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(code))).toEqual([]);
  });

  test('FIELD_WORDS are the words of FieldDescriptor', () => {
    expect(sorted(members('FieldDescriptor').own)).toEqual(sorted(FIELD_WORDS));
  });
});

describe('field types', () => {
  const chapter = section(manual, '## Field types');

  test('are those of the registry', () => {
    const documented = [...chapter.matchAll(/^### (.+)$/gm)].map((match) => match[1] ?? '');
    expect(sorted(documented)).toEqual(sorted(fieldTypes.keys()));
  });

  test.each([...fieldTypes.values()])('$name has its keywords and operators', ({ name, keywords, operators }) => {
    const text = section(manual, `### ${name}`);
    expect(sorted(codeItems(text))).toEqual(sorted(Object.keys(keywords)));
    const documented = /Operators:\s([a-z\s]+)\./.exec(text)?.[1]?.split(/\s+/) ?? [];
    expect(sorted(documented)).toEqual(sorted(operators));
  });

  test.each([...fieldTypes.values()])('$name has an example with each keyword', ({ name, keywords }) => {
    const block = readBlocks(section(manual, `### ${name}`)).find(({ language }) => language === 'yaml');
    const { fields }: { fields: Record<string, Record<string, unknown>> } = parse(block?.text ?? '');
    const used = new Set(Object.values(fields).flatMap((field) => Object.keys(field)));
    expect(Object.keys(keywords).filter((keyword) => !used.has(keyword))).toEqual([]);
    expect(Object.values(fields).map(({ type }) => type)).toEqual(Object.values(fields).map(() => name));
  });
});

test('diagnostic codes are those of the catalogue, and warnings are marked', () => {
  const rows = codeRows(section(manual, '## Diagnostics')).map(({ name, cells }) => [
    name,
    cells[0]?.includes('(warning)') ? 'warning' : 'error',
  ]);
  expect(Object.fromEntries(rows)).toEqual(diagnosticCodes);
});

describe('YAML blocks', () => {
  const blocks = readBlocks(manual).filter(({ language, text }) => language === 'yaml' && !text.startsWith('#'));
  const complete = blocks.filter(({ text }) => text.startsWith('type:'));
  const fragments = blocks.filter(({ text }) => !text.startsWith('type:'));
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'manual-'));
    for (const [index, { text }] of complete.entries()) writeFileSync(join(folder, `${index}.yaml`), text);
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  test('check prints what the manual shows', () => {
    const [faulty, shown] = readBlocks(section(manual, '## Diagnostics'));
    const alone = join(folder, 'alone');
    mkdirSync(alone);
    writeFileSync(join(alone, 'gift-card.yaml'), faulty?.text ?? '');
    const { diagnostics } = checkSchema(alone);
    const printed = formatDiagnostics(diagnostics.map((one) => ({ ...one, file: 'schema/gift-card.yaml' })));
    expect(`${printed}\n`).toBe(shown?.text);
  });

  test('the complete descriptors have no fault, together', () => {
    expect(complete.length).toBeGreaterThan(5);
    expect(checkSchema(folder).diagnostics).toEqual([]);
  });

  test.each(fragments)('the fragment at line $line has no fault', ({ text }) => {
    writeFileSync(join(folder, 'fragment.yaml'), `type: Fragment\n${text}`);
    expect(checkSchema(folder).diagnostics).toEqual([]);
  });
});
