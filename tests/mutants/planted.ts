/** A copy of the compiled engine, into which faults are planted one at a time; each runs as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { transformSync } from 'esbuild';
import { openBuild } from '../support/compiled.ts';
import type { Edit, Mutant } from './mutant.ts';

export interface Copy {
  readonly directory: string;
  /** Plants the faults; the function that comes back takes them out again. */
  plant(mutant: Mutant): () => void;
  remove(): void;
}

export interface Service {
  readonly url: string;
  stop(): Promise<void>;
}

const MAIN = `
const { readSettings } = require('./engine/settings.js');
const { serve } = require('./engine/server/serve.js');
serve(readSettings(process.env)).then(({ url }) => console.log(url));
`;

function compile(source: string): string {
  const { code } = transformSync(source, { loader: 'ts', format: 'cjs', platform: 'node', target: 'node22' });
  return code.replaceAll(/require\("(\.[^"]*)\.ts"\)/g, 'require("$1.js")');
}

const compiledName = (directory: string, file: string): string => join(directory, file.replace(/\.ts$/, '.js'));

type Sources = ReadonlyMap<string, string>;

/** Where the words of an edit are: any white space is as good as any other, or none. */
export function placeOf({ find, exporter }: Edit, sources: Sources): { file: string; from: number; to: number } {
  const tokens = find.match(/[\p{L}\p{N}_$]+|\S/gu) ?? [];
  const words = new RegExp(tokens.map((token) => token.replaceAll(/[$()*+./?[\\\]^{|}]/g, '\\$&')).join('\\s*'), 'gu');
  const exported = new RegExp(`^export (?:async )?(?:function|const|class) ${exporter ?? ''}\\b`, 'm');
  const places = [...sources]
    .filter(([, source]) => exporter === undefined || exported.test(source))
    .flatMap(([file, source]) =>
      [...source.matchAll(words)].map(({ index, 0: text }) => ({ file, from: index, to: index + text.length })),
    );
  const [place] = places;
  if (place === undefined || places.length > 1)
    throw new Error(`in ${places.map(({ file }) => file).join(', ') || 'no file'}, not in one:\n${find}`);
  return place;
}

/** Those of the engine without the suites, which are to find the faults. */
export function readSources(): Sources {
  const files = readdirSync('engine', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((name) => join('engine', name));
  return new Map(files.filter((file) => !isOfSuites(file)).map((file) => [file, readFileSync(file, 'utf8')]));
}

/** The sources that the fault changes. */
export function plantedIn({ edits }: Mutant, sources: Sources): Sources {
  const changed = new Map<string, string>();
  for (const edit of edits) {
    const { file, from, to } = placeOf(edit, new Map([...sources, ...changed]));
    const source = changed.get(file) ?? sources.get(file) ?? '';
    changed.set(file, source.slice(0, from) + edit.replace + source.slice(to));
  }
  return changed;
}

const isOfSuites = (file: string): boolean => file.startsWith(join('engine', 'suite'));

export function copyEngine(): Copy {
  const directory = mkdtempSync(join(tmpdir(), 'mutants-'));
  cpSync(join(openBuild().directory, 'engine'), join(directory, 'engine'), { recursive: true });
  cpSync('package.json', join(directory, 'package.json'));
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'main.js'), MAIN);

  const sources = readSources();
  function plant(mutant: Mutant): () => void {
    const changed = plantedIn(mutant, sources);
    for (const [file, source] of changed) write(directory, file, source);
    return () => {
      for (const file of changed.keys()) write(directory, file, sources.get(file) ?? '');
    };
  }
  return { directory, plant, remove: () => rmSync(directory, { recursive: true }) };
}

const write = (directory: string, file: string, source: string): void =>
  writeFileSync(compiledName(directory, file), compile(source));

/** The first line that the process prints is its address. */
function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let [printed, errors] = ['', ''];
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes('\n')) done(printed.slice(0, printed.indexOf('\n')));
    });
    child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('exit', (code) => failed(new Error(`the service ended with ${code}: ${errors.slice(0, 2000)}`)));
  });
}

export async function startService(copy: Copy, schemaDirectory: string, databaseUrl: string): Promise<Service> {
  const settings = { PORT: '0', SCHEMA_DIR: schemaDirectory, DATABASE_URL: databaseUrl };
  const child = spawn(process.execPath, [join(copy.directory, 'main.js')], { env: { ...process.env, ...settings } });
  const ended = new Promise<void>((done) => void child.once('exit', () => done()));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  try {
    return { url: await firstLine(child), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
