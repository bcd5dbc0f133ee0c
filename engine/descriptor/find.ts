/** The descriptor files of a schema directory. */
import { readdirSync, realpathSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const DESCRIPTOR = /\.ya?ml$/i;

/** As people name a file: relative to the working directory, with slashes. */
export const shownPath = (location: string): string => relative(process.cwd(), location).replaceAll('\\', '/') || '.';

/** All of them, at any depth, sorted; hidden files and folders are not looked at. Throws where the directory cannot be read. */
export function findDescriptors(directory: string): readonly string[] {
  return walk(directory, new Set()).toSorted((a, b) => (a < b ? -1 : 1));
}

function walk(directory: string, seen: Set<string>): readonly string[] {
  const real = realpathSync(directory);
  if (seen.has(real)) return [];
  seen.add(real);
  return readdirSync(directory).flatMap((name) => {
    if (name.startsWith('.')) return [];
    const location = join(directory, name);
    const entry = statSync(location, { throwIfNoEntry: false });
    if (entry?.isDirectory()) return walk(location, seen);
    // What is no file (a link to nothing, a pipe) is reported where it is read.
    return DESCRIPTOR.test(name) ? [location] : [];
  });
}
