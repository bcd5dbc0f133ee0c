/** A copy of the engine, compiled once, into which faults are planted one at a time; each runs as a process of its own. */
import { transformSync } from '@swc/core';
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Edit, Mutant } from './mutants.ts';

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
  const { code } = transformSync(source, {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
  });
  return code.replaceAll(/require\("(\.[^"]*)\.ts"\)/g, 'require("$1.js")');
}

const compiledName = (directory: string, file: string): string => join(directory, file.replace(/\.ts$/, '.js'));

function edited(source: string, { file, find, replace }: Edit): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times, not once:\n${find}`);
  return parts.join(replace);
}

export function copyEngine(): Copy {
  const directory = mkdtempSync(join(tmpdir(), 'mutants-'));
  cpSync('engine', join(directory, 'engine'), { recursive: true });
  cpSync('package.json', join(directory, 'package.json'));
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'main.js'), MAIN);
  const files = readdirSync('engine', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  for (const file of files.map((name) => join('engine', name))) write(directory, file, readFileSync(file, 'utf8'));

  function plant({ edits }: Mutant): () => void {
    const sources = new Map(edits.map(({ file }) => [file, readFileSync(file, 'utf8')]));
    const changed = new Map(sources);
    for (const edit of edits) changed.set(edit.file, edited(changed.get(edit.file) ?? '', edit));
    for (const [file, source] of changed) write(directory, file, source);
    return () => {
      for (const [file, source] of sources) write(directory, file, source);
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
