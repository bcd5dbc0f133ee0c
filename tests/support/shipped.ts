/** The shipped store. Its tests are skipped when `schema/` no longer has its types. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { OBJECTS, OPEN_TYPES } from '../store/specification.ts';

const KNOWN: ReadonlySet<string> = new Set([...Object.keys(OBJECTS), ...OPEN_TYPES]);
export const isOfStore = (type: string): boolean => KNOWN.has(type);
const typeOf = (file: string): string => (parse(readFileSync(file, 'utf8')) as { type: string }).type;

const isShipped = (file: string): boolean => file.endsWith('.yaml') && isOfStore(typeOf(file));

/** Without what somebody has added to `schema/`. */
export const shippedFiles: readonly string[] = readdirSync('schema', { recursive: true, encoding: 'utf8' })
  .map((name) => join('schema', name))
  .filter(isShipped);

const isStore = new Set(shippedFiles.map(typeOf)).size === KNOWN.size;

if (!isStore) test.todo('schema/ does not have the types of the shipped store: its tests are skipped');

export const describeStore = isStore ? describe : describe.skip;
