/** The package's folder, above the sources and above the compiled code, and its version. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

function folderOfPackage(directory: string): string {
  const found = existsSync(join(directory, 'package.json')) || dirname(directory) === directory;
  return found ? directory : folderOfPackage(dirname(directory));
}

export const PACKAGE_FOLDER = folderOfPackage(__dirname);

export const VERSION: string = String(JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')).version);
