/**
 * What `npm pack` runs before it packs: completes `dist`, so that what is installed needs no package that only a clone
 * has. What the compiled code requires and `dependencies` does not name is bundled; files that browsers and other threads
 * load are copied; of the declarations, those are kept that the public API needs.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import * as api from '../engine/index.ts';
import { ASSETS } from '../engine/pages/assets.ts';
import { buildStudio } from './studio.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly homepage?: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

const TSC = 'node_modules/typescript/bin/tsc';

const readManifest = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8')) as Manifest;

/** `require("name")` as the compiler writes it. */
const REQUIRE = /require\("([^".][^"]*)"\)/g;
const NAME = /^(?:@[^/]+\/)?[^/]+/;

const packageOf = (specifier: string): string => NAME.exec(specifier)?.[0] ?? specifier;
const posix = (path: string): string => path.replaceAll('\\', '/');

const tsc = (...options: readonly string[]): void =>
  void execFileSync(process.execPath, [TSC, '-p', 'tsconfig.build.json', ...options], { stdio: 'inherit' });

/** Returns the folders of the packages whose code is in the bundles. */
async function bundleLibraries(engine: string, { dependencies }: Manifest): Promise<ReadonlySet<string>> {
  const folders = new Set<string>();
  const bundleOf = (specifier: string): string =>
    join(
      engine,
      'bundled',
      `${packageOf(specifier)
        .replace('@', '')
        .replaceAll(/[^\w.-]/g, '-')}.js`,
    );
  const isBundled = (specifier: string): boolean =>
    !specifier.startsWith('node:') &&
    !builtinModules.includes(specifier) &&
    dependencies[packageOf(specifier)] === undefined;
  const files = globSync(`${engine}/**/*.js`).map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  const specifiers = files.flatMap(({ text }) => [...text.matchAll(REQUIRE)].map(([, specifier = '']) => specifier));
  // One bundle for all that is required of a package: what its parts share, they share there as well.
  const parts = Map.groupBy(new Set(specifiers.filter(isBundled)), bundleOf);
  for (const [outfile, needed] of parts) await bundle(needed, outfile, dependencies, folders);
  for (const { file, text } of files) {
    const rewritten = text.replaceAll(REQUIRE, (whole, specifier: string) => {
      if (!isBundled(specifier)) return whole;
      const path = posix(relative(dirname(file), bundleOf(specifier)));
      return `require("./${path}")[${JSON.stringify(specifier)}]`;
    });
    if (rewritten !== text) writeFileSync(file, rewritten);
  }
  return folders;
}

async function bundle(
  specifiers: readonly string[],
  outfile: string,
  dependencies: Manifest['dependencies'],
  folders: Set<string>,
): Promise<void> {
  const getters = specifiers.map((one) => `get ${JSON.stringify(one)}() { return require(${JSON.stringify(one)}); }`);
  const { metafile } = await build({
    stdin: { contents: `module.exports = { ${getters.join(', ')} };`, resolveDir: '.' },
    outfile,
    bundle: true,
    minifySyntax: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    // The drivers: those that the engine has are passed by it, the others are never loaded.
    external: [...Object.keys(dependencies), ...DRIVERS],
    metafile: true,
    logLevel: 'warning',
  });
  for (const input of Object.keys(metafile.inputs)) {
    const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
}

const DRIVERS = ['mariadb', 'mysql', 'mysql2', 'oracledb', 'pg-native', 'pg-query-stream', 'sqlite3', 'tedious'];

function copyAssets(engine: string): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const [name, specifier] of Object.entries(ASSETS)) {
    copyFileSync(require.resolve(specifier), join(engine, 'pages', name));
    folders.add(join('node_modules', packageOf(specifier)));
  }
  return folders;
}

/** What is copied keeps its licences. */
function writeLicences(dist: string, folders: Iterable<string>): void {
  const texts = [...folders].toSorted().map((folder) => {
    const { name, version, license, homepage = '' } = readManifest(join(folder, 'package.json'));
    const files = globSync('{*LICENSE*,LICENCE*,License*,license*,NOTICE*}', { cwd: folder }).toSorted();
    const head = `${name} ${version} (${license}) ${homepage}`.trim();
    return [head, ...files.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n\n');
  });
  writeFileSync(join(dist, 'LICENSES.txt'), `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
}

/** The public API's declarations, and those that they name. Types are checked where the program is compiled. */
function declare(dist: string): void {
  const all = mkdtempSync(join(tmpdir(), 'declarations-'));
  tsc('--noCheck', '--declaration', '--emitDeclarationOnly', '--outDir', all);
  const needed = new Set(['engine/index.d.ts']);
  for (const file of needed) {
    const text = readFileSync(join(all, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(/from '(\.[^']+)\.[jt]s'|import\("(\.[^"]+)\.[jt]s"\)/g))
      needed.add(posix(join(dirname(file), `${specifier}.d.ts`)));
    mkdirSync(dirname(join(dist, file)), { recursive: true });
    cpSync(join(all, file), join(dist, file));
  }
  rmSync(all, { recursive: true });
}

/** For `import`: Node finds the names in it without reading what it leads to. */
function writeModule(engine: string): void {
  const names = Object.keys(api).toSorted();
  writeFileSync(join(engine, 'index.mjs'), `export { ${names.join(', ')} } from './index.js';\n`);
  copyFileSync(join(engine, 'index.d.ts'), join(engine, 'index.d.mts'));
}

/** `dist`: what the compiler has made. */
async function complete(dist: string): Promise<void> {
  const engine = join(dist, 'engine');
  declare(dist);
  const bundled = await bundleLibraries(engine, readManifest('package.json'));
  writeModule(engine);
  const { libraries } = await buildStudio(join(dist, 'studio'));
  writeLicences(dist, new Set([...bundled, ...copyAssets(engine), ...libraries]));
}

/** Without an argument, `dist` is made anew; otherwise what the compiler has made there is completed. */
async function main([given]: readonly string[]): Promise<void> {
  const dist = given ?? 'dist';
  if (given === undefined) {
    rmSync(dist, { recursive: true, force: true });
    tsc();
  }
  await complete(dist);
}

void main(process.argv.slice(2));
