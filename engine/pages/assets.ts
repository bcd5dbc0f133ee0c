/**
 * Files of libraries that browsers load. The published package has copies beside this module, so that it does not depend
 * on the packages that they come from.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_FOLDER } from '../process.ts';

/** The name of the copy, and where the original is. */
export const ASSETS = {
  'swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
  'swagger-ui-bundle.js': 'swagger-ui-dist/swagger-ui-bundle.js',
} as const;

export function assetFile(name: keyof typeof ASSETS): string {
  const copy = join(__dirname, name);
  return existsSync(copy) ? copy : require.resolve(ASSETS[name]);
}

/** A file of engine/pages/public. */
export const publicFile = (name: string): string => join(PACKAGE_FOLDER, 'engine/pages/public', name);
