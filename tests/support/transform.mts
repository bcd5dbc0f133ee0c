/** Jest's transformer: TypeScript to CommonJS, one file at a time. */
import { transformSync } from 'esbuild';

/** What a test file imports goes through tests/support/environment.mts. */
const banner = '"use strict"; require = globalThis.sharedRequire?.(require, __filename) ?? require;';

export default {
  process(source: string, file: string): { readonly code: string; readonly map: string } {
    const settings = { banner, sourcefile: file, sourcemap: 'external', target: 'node22' } as const;
    // Jest has no modules of its own kind: `import()` becomes `require`.
    const supported = { 'dynamic-import': false };
    return transformSync(source, { ...settings, supported, loader: 'ts', format: 'cjs' });
  },
};
