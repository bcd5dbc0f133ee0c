/** `npm run docs`: writes the pages of docs/reference/ that the code knows: commands, keys. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '../engine/cli.ts';
import { constraintsOf, FIELD_WORDS, grammar, keysOf } from '../engine/descriptor/grammar.ts';
import { isObject, type JsonObject, type JsonValue } from '../engine/json/json.ts';
import { fieldTypes } from '../engine/field-types/registry.ts';

const FOLDER = 'docs/reference';
const NOTE = '<!-- Written by "npm run docs". -->';

const cell = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|');

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

const code = (text: string): string => `\`${text}\``;

const page = (title: string, ...parts: readonly string[]): string => `${[NOTE, `# ${title}`, ...parts].join('\n\n')}\n`;

const commandPage = (): string =>
  page(
    'Commands',
    'Run a command with `npx records NAME`; `npx records NAME --help` shows its options. All read the same [settings](settings.md), and stop with exit code 1 where something is wrong, also where standard output cannot be written.',
    table(
      ['command', 'what it does'],
      Object.entries(commands).map(([name, { description }]) => [code(`records ${name}`), description]),
    ),
    'On SIGTERM, SIGINT, SIGHUP, SIGQUIT or SIGUSR2 the service finishes open requests, refuses new connections, and closes the database. Further signals change nothing, except SIGINT, which then ends it at once. At a terminal a service prints text on standard output, otherwise one JSON object per line; its log is on standard error.',
  );

// The grammar of descriptors, which editors read too.

const object = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

const rowsOf = (words: JsonObject): readonly (readonly string[])[] =>
  Object.entries(words).map(([name, key]) => [code(name), text(object(key)['description'])]);

const KEY_TABLE = ['key', 'meaning'];

const meaningOf = (type: string): string => String(grammar.definitions[`${type}Field`]?.['description']);

/** A key that only some types have is described with them. */
const meaningOfKey = (key: string): string =>
  text({ ...keysOf('stringField'), ...keysOf('fieldWords') }[key]?.['description']);

function keys(): string {
  const fieldRows = [...FIELD_WORDS].map((name) => [code(name), name === 'type' ? '' : meaningOfKey(name)]);
  const types = [...fieldTypes.values()].flatMap(({ name, operators }) => [
    `### ${name}`,
    meaningOf(name),
    operators.length === 0 ? 'Not filterable.' : `Operators of filters: ${operators.map(code).join(' ')}.`,
    ...(Object.keys(constraintsOf(name)).length === 0 ? [] : [table(KEY_TABLE, rowsOf(constraintsOf(name)))]),
  ]);
  const kinds = ['belongsTo', 'hasOne', 'hasMany', 'manyToMany'];
  const relationKeys = new Map<string, { readonly meaning: string; readonly kinds: string[] }>();
  for (const kind of kinds)
    for (const [name = '', meaning = ''] of rowsOf(keysOf(`${kind}Relation`))) {
      const known = relationKeys.get(name);
      if (known === undefined) relationKeys.set(name, { meaning, kinds: [kind] });
      else known.kinds.push(kind);
    }
  return page(
    'Descriptor keys',
    'Every key of a descriptor. Only `type` is required; a relation also needs `kind` and `type`.',
    '## Record type',
    table(KEY_TABLE, rowsOf(object(grammar['properties']))),
    '## Fields',
    table(
      KEY_TABLE,
      fieldRows.map(([key = '', meaning = '']) => [key, meaning || 'One of the field types below.']),
    ),
    '## Field types',
    ...types,
    '## Relations',
    table(
      ['key', 'of', 'meaning'],
      [...relationKeys].map(([name, { meaning, kinds: of }]) => [
        name,
        of.length === kinds.length ? 'all' : of.join(', '),
        meaning,
      ]),
    ),
  );
}

/** The generated pages by file name. */
export const generatedPages = (): Readonly<Record<string, string>> => ({
  'commands.md': commandPage(),
  'descriptor-keys.md': keys(),
});

if (require.main === module)
  for (const [name, content] of Object.entries(generatedPages())) writeFileSync(join(FOLDER, name), content);
