/**
 * Jest's globalSetup: compiles the project as `npm run build` does, once for each state of its sources, for all tests.
 * Types are left to `npm run typecheck`.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const CACHE = 'node_modules/.cache';
const PREFIX = 'build-';
const TSC = 'node_modules/typescript/bin/tsc';
/** Faults are told with the lines of the sources. */
const OPTIONS = ['-p', 'tsconfig.build.json', '--noCheck', '--sourceMap'];
const SOURCES = ['engine', 'server.ts', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
const KEPT_MS = 24 * 3_600_000;

export default async function setUp(): Promise<void> {
  // Node.js keeps what it has compiled: tests start hundreds of processes.
  process.env['NODE_COMPILE_CACHE'] ??= resolve(CACHE, 'compiled');
  try {
    process.env['TEST_BUILD'] = await built();
  } catch (error) {
    // Told by the tests that need the build; the others run.
    process.env['TEST_BUILD_FAULT'] = String(Object.assign({ stdout: '' }, error).stdout || error);
  }
}

/** The name is a digest of the sources: no build is out of date, and runs that overlap cannot disturb each other. */
async function built(): Promise<string> {
  const directory = join(CACHE, PREFIX + (await digest()));
  if (await isThere(directory)) return directory;
  await removeOld();
  const own = await mkdtemp(join(CACHE, `${PREFIX}new-`));
  await copyFile('package.json', join(own, 'package.json'));
  // Where the studio is, the pages that the service shows, and the files that `records init` copies.
  await symlink(resolve('dist'), join(own, 'dist'));
  await symlink(resolve('docs'), join(own, 'docs'));
  await symlink(resolve('deploy'), join(own, 'deploy'));
  for (const kept of [
    'pages/public',
    'descriptor/descriptor.schema.json',
    'openapi/guide.md',
    'openapi/simple-guide.md',
    'storage/postgres/catalogue.sql',
    'storage/sqlite/catalogue.sql',
  ])
    await cp(join('engine', kept), join(own, 'engine', kept), { recursive: true });
  await promisify(execFile)(process.execPath, [TSC, ...OPTIONS, '--outDir', own]);
  await rename(own, directory).catch(async (error: unknown) => {
    await rm(own, { recursive: true });
    if (!(await isThere(directory))) throw error;
  });
  return directory;
}

async function digest(): Promise<string> {
  const files = await Promise.all(SOURCES.map(filesOf));
  const hash = createHash('sha256');
  for (const file of files.flat())
    hash
      .update(`${file}\0`)
      .update(await readFile(file))
      .update('\0');
  return hash.digest('hex').slice(0, 20);
}

async function filesOf(path: string): Promise<readonly string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Those of a day ago, which no run can still use. */
async function removeOld(): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  for (const name of await readdir(CACHE)) {
    const path = join(CACHE, name);
    if (name.startsWith(PREFIX) && (await stat(path)).mtimeMs < Date.now() - KEPT_MS)
      await rm(path, { recursive: true, force: true });
  }
}
