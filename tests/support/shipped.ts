/** The shipped descriptors, without any that somebody has added to `schema/`: for tests that know each of them by name. */
import { cpSync, readFileSync, statSync } from 'node:fs';
import { parse } from 'yaml';
import { OBJECTS, OPEN_TYPES } from '../interface/specification.ts';
import { temporaryFolder } from './temporary.ts';

const KNOWN: ReadonlySet<string> = new Set([...Object.keys(OBJECTS), ...OPEN_TYPES]);

export const isShipped = (file: string): boolean =>
  file.endsWith('.yaml') && KNOWN.has((parse(readFileSync(file, 'utf8')) as { type: string }).type);

/** A new folder with a copy of them, for the time of a test file. */
export function shippedSchema(): string {
  const directory = temporaryFolder('shipped-');
  const filter = (file: string): boolean => statSync(file).isDirectory() || isShipped(file);
  cpSync('schema', directory, { recursive: true, filter });
  return directory;
}
