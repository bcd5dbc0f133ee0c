/** A schema folder and a database that belong together, and the commands on them, as `records <command>` runs them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { commands } from '../../engine/cli.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { StartError } from '../../engine/problem.ts';
import { createDatabase, type DatabaseKind, type TestDatabase } from './databases.ts';

/** By path; null takes the file away. */
export type Files = Readonly<Record<string, string | null>>;

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Project {
  readonly directory: string;
  readonly database: TestDatabase;
  readonly environment: Readonly<Record<string, string>>;
  write(files: Files): void;
  run(command: keyof typeof commands, ...options: readonly string[]): Promise<Ran>;
  serving<T>(work: (url: string) => Promise<T>): Promise<T>;
  /** Starts the service and stops it; once with each of the versions, which are written before. */
  starts(...versions: readonly Files[]): Promise<void>;
  remove(): Promise<void>;
}

/** `shown` is a folder of descriptors that are not the project's own. */
export async function createProject(files: Files, shown?: string, kind?: DatabaseKind): Promise<Project> {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  const database = await createDatabase(kind);
  const environment = { SCHEMA_DIR: shown ?? directory, DATABASE_URL: database.url, PORT: '0' };
  const write = (changed: Files): void => {
    for (const [name, text] of Object.entries(changed)) writeOne(join(directory, name), text);
  };
  write(files);
  const serving: Project['serving'] = async (work) => {
    const { url, close } = await serve({ ...readSettings(environment), shutdownTimeout: 1000 });
    try {
      return await work(url);
    } finally {
      await close();
    }
  };
  return {
    directory,
    database,
    environment,
    write,
    run: (command, ...options) => runCommand(command, options, environment),
    serving,
    starts: async (...versions) => {
      for (const version of versions.length > 0 ? versions : [{}]) {
        write(version);
        await serving(async () => undefined);
      }
    },
    remove: () => database.remove(),
  };
}

export function useProjects(): (files: Files, shown?: string) => Promise<Project> {
  const projects: Project[] = [];
  afterEach(async () => {
    for (const project of projects.splice(0)) await project.remove();
  });
  return async (files, shown) => {
    const project = await createProject(files, shown);
    projects.push(project);
    return project;
  };
}

function writeOne(file: string, text: string | null): void {
  if (text === null) return rmSync(file, { force: true });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Printed every five seconds: whether it comes depends on how busy the machine is. */
const PROGRESS = /^\d+ (of \d+ lines|rows so far)$/;

/** In this process, with an environment and a console of its own. */
export async function runCommand(
  name: keyof typeof commands,
  options: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ran> {
  const before = { ...process.env };
  const texts = { out: '', err: '' };
  const { log, error } = console;
  Object.assign(process.env, environment);
  console.log = (text = '') => void (texts.out += `${String(text)}\n`);
  console.error = (text = '') => {
    if (!PROGRESS.test(text)) texts.err += `${String(text)}\n`;
  };
  try {
    const code = await (await commands[name].load()).run(options);
    return { code, ...texts };
  } catch (failure) {
    if (!(failure instanceof StartError)) throw failure;
    return { code: 1, out: texts.out, err: texts.err + failure.message };
  } finally {
    Object.assign(console, { log, error });
    process.env = before;
  }
}
