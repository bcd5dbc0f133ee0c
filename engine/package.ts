/** The package's folder, above the sources and above the compiled code, its name and its version. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

function folderOfPackage(directory: string): string {
  const found = existsSync(join(directory, 'package.json')) || dirname(directory) === directory;
  return found ? directory : folderOfPackage(dirname(directory));
}

export const PACKAGE_FOLDER = folderOfPackage(__dirname);

const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8'));

export const { name: PACKAGE_NAME, version: VERSION } = manifest as { readonly name: string; readonly version: string };
