/** The options of Node.js with which `npm start` runs the service; images and units have the same. */
import { readFileSync } from 'node:fs';

interface Package {
  readonly scripts: { readonly start: string };
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as Package;

export const NODE_OPTIONS: readonly string[] = scripts.start.split(' ').filter((word) => word.startsWith('--'));
