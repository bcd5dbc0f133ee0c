/** The number of packages that `npm ci` installs. */
import { readFileSync } from 'node:fs';

interface Locked {
  readonly version?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

const { packages }: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
// The optional ones are the same program for each platform.
const installed = Object.entries(packages)
  .filter(([path, { link, optional }]) => path.startsWith('node_modules/') && !link && !optional)
  .map(([path]) => path);

function found(from: string, name: string): string | undefined {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (path in packages || from === '') return path in packages ? path : undefined;
  const end = from.lastIndexOf('/node_modules/');
  return found(end < 0 ? '' : from.slice(0, end), name);
}

function needed(from: string, known = new Set<string>()): ReadonlySet<string> {
  const { dependencies, devDependencies, peerDependencies } = packages[from] ?? {};
  for (const name of Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies })) {
    const path = found(from, name);
    if (path === undefined || known.has(path)) continue;
    known.add(path);
    needed(path, known);
  }
  return known;
}

const [ofStudio, ofRoot] = [needed('studio'), needed('')];

test.each([
  ['in all', installed, 300, 520],
  ['which the studio does without', installed.filter((path) => !ofStudio.has(path)), 100, 400],
  ['without the studio', installed.filter((path) => ofRoot.has(path)), 300, 450],
] as const)('packages %s', (_, paths, least, most) => {
  expect(paths.length).toBeGreaterThan(least);
  expect(paths.length).toBeLessThanOrEqual(most);
});

/** The first versions without a published advisory. */
test.each([['on-headers', '1.1.0', 'CVE-2025-7339']])('every %s is at least %s (%s)', (name, least) => {
  const versions = Object.entries(packages).flatMap(([path, { version = '' }]) =>
    path.endsWith(`node_modules/${name}`) ? [version] : [],
  );
  expect(versions).not.toEqual([]);
  for (const version of versions)
    expect(version.localeCompare(least, 'en', { numeric: true })).toBeGreaterThanOrEqual(0);
});
