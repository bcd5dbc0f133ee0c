/** `init` sets up a project in the working directory, keeping existing files. `new TYPE` writes a descriptor. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { isError } from '../diagnostic.ts';
import { checkSchema } from '../validation/check-schema.ts';
import { GRAMMAR_FILE } from '../descriptor/grammar.ts';
import { findDescriptors, loadDescriptors, shownPath } from '../descriptor/load.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { nameFault } from '../descriptor/texts.ts';
import { makeFolder } from '../files.ts';
import { isObject } from '../json/json.ts';
import { defaultPath, defaultTable, snakeCase } from '../names.ts';
import { reasonOf, StartError } from '../problem.ts';
import { PACKAGE_FOLDER, PACKAGE_NAME, print, printError } from '../process.ts';
import { command } from './command.ts';

const INIT =
  'records init: writes a first descriptor and its test, a .gitignore, npm scripts, a Dockerfile and a compose file; existing files are kept';

const MANIFEST = 'package.json';
const TEST_FILE = 'test/records.test.mjs';
const TYPE = 'Item';

const SCRIPTS: Readonly<Record<string, string>> = {
  start: 'records start',
  dev: 'records dev',
  check: 'records check',
  plan: 'records plan',
  apply: 'records apply',
  test: 'node --test',
};

/** `npm init` writes this script. */
const PLACEHOLDER = /^echo "Error: no test specified" && exit 1$/;

const IGNORED = ['node_modules/', 'data/', 'records.env'];

const DEPLOYMENT = ['Dockerfile', 'compose.yaml'];

export const init = command(INIT, {}, [], async (_, __, { schemaDirectory }) => {
  const manifest = readManifest();
  const hasDescriptors = existsSync(schemaDirectory) && findDescriptors(schemaDirectory).length > 0;
  const lines = [
    ...(hasDescriptors
      ? [`Kept ${schemaDirectory}, which has descriptors`]
      : [
          `Wrote ${writeDescriptor(TYPE, schemaDirectory)}`,
          writeNew(
            TEST_FILE,
            filled('records.test.mjs', { PACKAGE_NAME, SCHEMA_DIR: schemaDirectory.replaceAll(/['\\]/g, '\\$&') }),
          ),
        ]),
    writeIgnored(),
    ...DEPLOYMENT.map((file) => writeNew(file, filled(file))),
    ...addScripts(manifest),
  ];
  print([...lines, '', 'Next: "npm start" serves the records, "npm test" runs the test.'].join('\n'));
  return 0;
});

/** A file of deploy/project, with these words replaced. */
function filled(name: string, words: Readonly<Record<string, string>> = {}): string {
  const text = readFileSync(join(PACKAGE_FOLDER, 'deploy/project', name), 'utf8');
  return text.replaceAll(/[A-Z_]+/g, (word) => words[word] ?? word);
}

function readManifest() {
  // Without a manifest, `npm install` would use a parent folder's.
  const text = existsSync(MANIFEST) ? readFileSync(MANIFEST, 'utf8') : '{ "private": true }';
  const value = parsed(text.replace(/^\uFEFF/, ''));
  const scripts = isObject(value) ? (value['scripts'] ?? {}) : undefined;
  if (isObject(value) && isObject(scripts)) return { text, value, scripts };
  throw new StartError(`${MANIFEST} is not a JSON object with an object of "scripts"`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StartError(`${MANIFEST} is not JSON: ${reasonOf(error)}`, { cause: error });
  }
}

function addScripts({ text, value, scripts }: ReturnType<typeof readManifest>): readonly string[] {
  const isFree = (name: string): boolean => scripts[name] === undefined || PLACEHOLDER.test(String(scripts[name]));
  const isNew = !existsSync(MANIFEST);
  const added = Object.entries(SCRIPTS).filter(([name]) => isFree(name));
  const kept = Object.keys(SCRIPTS).filter((name) => !isFree(name));
  const keptScripts = kept.map((name) => `Kept the npm script "${name}"`);
  if (added.length === 0) return keptScripts;
  const next = { ...value, scripts: { ...scripts, ...Object.fromEntries(added) } };
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? '  ';
  writeFileSync(MANIFEST, `${JSON.stringify(next, null, indent)}\n`);
  return [
    ...(isNew ? [`Wrote ${MANIFEST}`] : []),
    `Added npm scripts: ${added.map(([name]) => name).join(', ')}`,
    ...keptScripts,
  ];
}

function writeIgnored(): string {
  const file = '.gitignore';
  if (!existsSync(file)) return writeNew(file, `${IGNORED.join('\n')}\n`);
  const bare = (line: string): string => line.trim().replaceAll(/^\/|\/$/g, '');
  const lines = new Set(readFileSync(file, 'utf8').split('\n').map(bare));
  const missing = IGNORED.filter((line) => !lines.has(bare(line)));
  return missing.length === 0 ? `Kept ${file}` : `Kept ${file}; add ${missing.join(' and ')} to it`;
}

function writeNew(file: string, text: string): string {
  if (existsSync(file)) return `Kept ${file}`;
  makeFolder(dirname(file));
  writeFileSync(file, text, { flag: 'wx' });
  return `Wrote ${file}`;
}

const NEW = 'records new TYPE, for example "records new GiftCard"';

export const create = command(NEW, {}, ['TYPE'], async (_, [type], { schemaDirectory }) => {
  const file = writeDescriptor(type, schemaDirectory);
  const faults = checkSchema(schemaDirectory).diagnostics.filter((one) => one.file === file);
  if (faults.length > 0) printError(formatDiagnostics(faults));
  print(`Wrote ${file}. Edit it, then run "records check" and "records start" (or "records dev").`);
  return faults.some(isError) ? 1 : 0;
});

function writeDescriptor(type: string, directory: string): string {
  const fault = nameFault(type);
  if (fault) throw new StartError(fault.message);
  const known = existsSync(directory)
    ? loadDescriptors(directory).files.map(({ descriptor, file }) => ({ name: descriptor.type, file }))
    : [];
  const same = known.find(({ name }) => name.toLowerCase() === type.toLowerCase());
  if (same) throw new StartError(`The type ${same.name} already exists, in ${same.file}`);
  makeFolder(directory);
  const file = join(directory, `${snakeCase(type).replaceAll('_', '-') || type}.yaml`);
  const text = filled('type.yaml', {
    TYPE: type,
    GRAMMAR: relative(directory, GRAMMAR_FILE).replaceAll('\\', '/'),
    PATH: defaultPath(type),
    TABLE: defaultTable(type),
    OTHER: known[0]?.name ?? type,
  });
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new StartError(`${shownPath(file)} cannot be written: ${reasonOf(error)}`);
  }
  return shownPath(file);
}
