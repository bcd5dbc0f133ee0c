/**
 * What `npm pack` runs before it packs: completes `dist`. What browsers load is built, with the licences of its libraries
 * and a bill of materials; of the declarations, those are kept that the public API needs.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as api from '../engine/index.ts';
import { buildStudio } from './studio.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly homepage?: string;
}

const TSC = 'node_modules/typescript/bin/tsc';

const readManifest = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8')) as Manifest;

const posix = (path: string): string => path.replaceAll('\\', '/');

const tsc = (...options: readonly string[]): void =>
  void execFileSync(process.execPath, [TSC, '-p', 'tsconfig.build.json', ...options], { stdio: 'inherit' });

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

/** The bill of materials that npm makes of all packages, reduced to those in `folders`. */
function writeBill(dist: string, folders: Iterable<string>): void {
  const made = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], { maxBuffer: 64 * 1024 ** 2 });
  const bill = JSON.parse(String(made)) as Bill;
  const bundled = new Set(
    [...folders].map((folder) => {
      const { name, version } = readManifest(join(folder, 'package.json'));
      return `${name}@${version}`;
    }),
  );
  const components = bill.components.filter((component) => bundled.has(component['bom-ref']));
  const dependencies = bill.dependencies.filter(({ ref }) => bundled.has(ref));
  writeFileSync(join(dist, 'sbom.cdx.json'), `${JSON.stringify({ ...bill, components, dependencies }, null, 2)}\n`);
}

interface Bill {
  readonly components: readonly { readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string }[];
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

/** A static list of exports, so that `import { x }` works. */
function writeModule(engine: string): void {
  const names = Object.keys(api).toSorted();
  writeFileSync(join(engine, 'index.mjs'), `export { ${names.join(', ')} } from './index.js';\n`);
  copyFileSync(join(engine, 'index.d.ts'), join(engine, 'index.d.mts'));
}

/** `dist`: what the compiler has made. */
async function complete(dist: string): Promise<void> {
  const engine = join(dist, 'engine');
  declare(dist);
  writeModule(engine);
  const { libraries } = await buildStudio(join(dist, 'studio'));
  writeLicences(dist, libraries);
  writeBill(dist, libraries);
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
