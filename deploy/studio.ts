/**
 * Builds what browsers load into `dist/studio`, unless what is there was built from the same sources: the studio, and in
 * `pages` the files of the reference.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { ASSETS } from '../engine/pages/page.ts';

const SOURCES = 'studio';
const PAGES = 'engine/pages/public';
const LIBRARY_FILES = Object.values(ASSETS).map((name) => `node_modules/${name}`);
const MANIFEST = 'studio.json';
/** The script that the page starts, and the one that it imports once it runs. */
const [ENTRY, MAIN] = ['start.ts', 'main.tsx'];

/** What the service reads of a build. */
interface StudioBuild {
  /** Digest of everything that the build depends on. */
  readonly sources: string;
  /** The script that the page starts. */
  readonly entry: string;
  /** What every page needs besides. */
  readonly preload: readonly string[];
  /** Folders of the libraries whose code is in it. */
  readonly libraries: readonly string[];
}

function digest(): string {
  const files = [
    ...globSync(`${SOURCES}/**/*.{ts,tsx,json}`, { exclude: ['**/node_modules/**'] }).toSorted(),
    ...globSync(`${PAGES}/*`).toSorted(),
  ];
  const hash = createHash('sha256');
  for (const file of [...files, 'package-lock.json', 'deploy/studio.ts'])
    hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}

function builtIn(folder: string): StudioBuild | undefined {
  const file = join(folder, MANIFEST);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as StudioBuild) : undefined;
}

/** Returns what is in the folder afterwards. */
export async function buildStudio(folder = 'dist/studio'): Promise<StudioBuild> {
  const sources = digest();
  const found = builtIn(folder);
  if (found?.sources === sources) return found;
  const { metafile, outputFiles } = await build({
    entryPoints: [`${SOURCES}/${ENTRY}`],
    outdir: folder,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const made = { sources, ...entryOf(metafile), libraries: librariesIn(metafile) };
  const pages = [...globSync(`${PAGES}/*`), ...LIBRARY_FILES];
  // A service that starts meanwhile finds all of the old files or all of the new ones.
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  for (const { path, contents } of outputFiles) writeCompressed(join(fresh, nameOf(path)), contents);
  mkdirSync(join(fresh, 'pages'));
  for (const file of pages) writeCompressed(join(fresh, 'pages', nameOf(file)), readFileSync(file));
  writeFileSync(join(fresh, MANIFEST), JSON.stringify(made));
  try {
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } catch (error) {
    // Another process has built the same in the meantime.
    rmSync(fresh, { recursive: true });
    if (builtIn(folder)?.sources !== sources) throw error;
  }
  return made;
}

const nameOf = (path: string): string => path.split(/[/\\]/).at(-1) ?? '';

function writeCompressed(file: string, contents: Uint8Array): void {
  writeFileSync(file, contents);
  writeFileSync(`${file}.gz`, gzipSync(contents, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
}

function entryOf({ outputs }: Metafile): Pick<StudioBuild, 'entry' | 'preload'> {
  const made = (source: string): string =>
    Object.keys(outputs).find((path) => outputs[path]?.entryPoint === `${SOURCES}/${source}`) ?? '';
  const entry = made(ENTRY);
  const seen = new Set<string>();
  // What the entry needs comes first.
  for (const first of [entry, made(MAIN)])
    for (const path of seen.add(first))
      for (const { path: imported, kind } of outputs[path]?.imports ?? [])
        if (kind === 'import-statement') seen.add(imported);
  return { entry: nameOf(entry), preload: [...seen].slice(1).map(nameOf) };
}

function librariesIn({ inputs }: Metafile): readonly string[] {
  const files = [...Object.keys(inputs), ...Object.values(ASSETS).map((name) => `node_modules/${name}`)];
  const folders = files.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].toSorted();
}

if (require.main === module) void buildStudio();
