/** The package as `npm pack` makes it, and as npm installs it, without a registry: its dependencies are linked. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** Where the packages are that come with it, by the lock file. */
export function productionPackages(): readonly string[] {
  const { packages }: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  return Object.entries(packages)
    .filter(([path, { dev = false }]) => path !== '' && !dev && existsSync(path))
    .map(([path]) => path);
}

const SOURCES = 'package.json README.md LICENSE CHANGELOG.md SECURITY.md docs engine deploy tests/package'.split(' ');

/**
 * Packs beside the clone: `npm pack` empties the folder that others may be running from. Returns the paths of the files
 * in the package, below `source`.
 */
export function pack(source: string, { directory }: { readonly directory: string }): readonly string[] {
  // Maps, and the link to the studio, are for tests in a clone.
  const isPacked = (path: string): boolean => !path.endsWith('.map') && path !== join(directory, 'dist');
  cpSync(directory, join(source, 'dist'), { recursive: true, filter: isPacked });
  // It is built again only where its sources have changed.
  if (existsSync('dist/studio')) cpSync('dist/studio', join(source, 'dist/studio'), { recursive: true });
  execFileSync(process.execPath, ['--require', 'esbuild-register', 'deploy/package.ts', join(source, 'dist')]);
  for (const file of SOURCES) cpSync(file, join(source, file), { recursive: true });
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: source,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files }] = JSON.parse(told) as [{ readonly files: readonly { readonly path: string }[] }];
  return files.map(({ path }) => path);
}

/** `modules`: the `node_modules` that gets the dependencies. */
export function install(source: string, packed: readonly string[], target: string, modules: string): void {
  for (const file of packed) cpSync(join(source, file), join(target, file));
  // As npm does with what `bin` names.
  chmodSync(join(target, 'dist/engine/cli.js'), 0o755);
  for (const path of productionPackages()) {
    // A package in the folder of another one is in that folder already.
    if (path.lastIndexOf('node_modules/') > 0) continue;
    const copy = join(modules, path.replace('node_modules/', ''));
    mkdirSync(dirname(copy), { recursive: true });
    symlinkSync(resolve(path), copy);
  }
}
