/** The schema folders that the suites run against: committed ones of odd shapes, and large ones written on demand. */
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FOLDER = join('tests', 'fixtures', 'schemas');

export const fixtureSchemas: readonly { readonly name: string; readonly directory: string }[] = readdirSync(FOLDER)
  .toSorted()
  .map((name) => ({ name, directory: join(FOLDER, name) }));

function writeSchema(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  mkdirSync(join(directory, 'related'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, `${name}.yaml`), text);
  return directory;
}

const KINDS = [
  'type: string, maxLength: 40',
  'type: integer, default: 0',
  'type: boolean',
  'type: decimal, scale: 2',
  'type: date',
  'type: number',
  'type: timestamp',
  'type: any',
] as const;

function wideSchema(count = 200): string {
  const fields = Array.from({ length: count }, (_, index) => `  field_${index}: { ${KINDS[index % KINDS.length]} }`);
  return writeSchema({ wide: `type: Wide\nfields:\n${fields.join('\n')}\n` });
}

export function manyTypes(count = 300): string {
  const descriptor = (index: number): string => {
    const relation = index === 0 ? '' : `relations:\n  before: { kind: belongsTo, type: Kind${index - 1} }\n`;
    return `type: Kind${index}\nfields:\n  name: { type: string }\n${relation}`;
  };
  return writeSchema(
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`kind-${index}`, descriptor(index)])),
  );
}

export const documentedSchemas = (): readonly { readonly name: string; readonly directory: string }[] => [
  { name: 'schema', directory: 'tests/fixtures/store' },
  ...fixtureSchemas,
  { name: 'wide', directory: wideSchema() },
];
