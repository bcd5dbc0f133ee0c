/** The shipped store, without what somebody has added to `schema/`. Its tests are skipped if `schema/` lacks any of its types. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { OBJECTS, OPEN_TYPES } from '../store/specification.ts';

const TYPES: readonly string[] = [...Object.keys(OBJECTS), ...OPEN_TYPES];
const SHIPPED = 'schema';

const typeOf = (file: string): string => /^type: *(\w+)/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '';

function filesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(folder, name));
}

export const shippedFiles: readonly string[] = filesIn(SHIPPED).filter((file) => TYPES.includes(typeOf(file)));

const present = new Set(shippedFiles.map(typeOf));
const isStore = TYPES.every((type) => present.has(type));

if (!isStore) test.todo('schema/ lacks types of the shipped store: its tests are skipped');

export const describeStore = isStore ? describe : describe.skip;

/** A folder with the files of the store alone. */
export function shippedSchema(): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  for (const file of shippedFiles) cpSync(file, join(folder, relative(SHIPPED, file)), { recursive: true });
  return folder;
}

export const shippedSchemas = isStore ? [{ name: SHIPPED, directory: shippedSchema() }] : [];
