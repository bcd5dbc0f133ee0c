/** The package's folder, above the sources and above the compiled code, its name and its version. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

function folderOfPackage(directory: string): string {
  const found = existsSync(join(directory, 'package.json')) || dirname(directory) === directory;
  return found ? directory : folderOfPackage(dirname(directory));
}

export const PACKAGE_FOLDER = folderOfPackage(__dirname);

interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
}

const manifest = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as PackageManifest;

export const { name: PACKAGE_NAME, version: VERSION } = manifest;

/** Why this Node.js will not do; undefined if it will. The database driver would crash without a message. */
export function nodeFault(version = process.versions.node): string | undefined {
  const needed = Number(/\d+/.exec(manifest.engines.node)?.[0]);
  if (Number.parseInt(version, 10) >= needed) return undefined;
  return `The service needs Node.js ${needed} or later, but this is ${version}. Install a newer one from https://nodejs.org; in a clone, npm start and npx records have their own`;
}
