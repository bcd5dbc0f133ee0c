/** What `npm pack` packs: which files, and that a project needs nothing else than the dependencies that it names. */
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { useCompiled } from '../support/compiled.ts';
import { install, pack, productionPackages } from './packed.ts';
import { describeAtNight } from '../support/whole.ts';
import { expectWorks, type Stranger, strangerIn } from './stranger.ts';

const compiled = useCompiled();
const folder = mkdtempSync(join(tmpdir(), 'package-'));
let packed: readonly string[];
let stranger: Stranger;

beforeAll(() => {
  const [source, project] = [join(folder, 'source'), join(folder, 'project')];
  packed = pack(source, compiled);
  install(source, packed, join(project, 'node_modules/record-engine'), join(project, 'node_modules'));
  mkdirSync(join(project, 'node_modules/.bin'));
  symlinkSync('../record-engine/dist/engine/cli.js', join(project, 'node_modules/.bin/records'));
  writeFileSync(join(project, 'package.json'), '{\n  "name": "project",\n  "version": "1.0.0"\n}\n');
  stranger = strangerIn(project, dirname(process.execPath));
});

test('it has the program, its types and its documents, and neither sources nor tests', () => {
  const outside = packed.filter(
    (file) => !/^(?:deploy\/(?:project|prometheus)|dist\/(?:engine|studio)|docs)\//.test(file),
  );
  expect(outside.toSorted()).toEqual(
    (
      'CHANGELOG.md LICENSE README.md SECURITY.md deploy/records.service dist/LICENSES.txt ' +
      'dist/sbom.cdx.json dist/server.js engine/descriptor/descriptor.schema.json engine/openapi/guide.md engine/openapi/simple-guide.md engine/storage/postgres/catalogue.sql engine/storage/sqlite/catalogue.sql package.json'
    )
      .split(' ')
      .toSorted(),
  );
  const kinds = new Set(packed.map((file) => /(?:\.d)?\.\w+$/.exec(file)?.[0] ?? ''));
  expect(kinds).toEqual(
    new Set([
      '',
      '.br',
      '.css',
      '.d.mts',
      '.d.ts',
      '.gz',
      '.js',
      '.json',
      '.md',
      '.mjs',
      '.service',
      '.sql',
      '.txt',
      '.yaml',
      '.yml',
    ]),
  );
});

test('what package.json names is in it', () => {
  const { bin, main, types, exports } = JSON.parse(readFileSync('package.json', 'utf8'));
  const named = JSON.stringify([bin, main, types, exports]).match(/(?<=")(?:\.\/)?(?:dist|engine)\/[^"]+/g) ?? [];
  expect(named.length).toBeGreaterThan(6);
  expect(named.filter((file) => !packed.includes(file.replace('./', '')))).toEqual([]);
});

test('what is copied into it has its licence', () => {
  const text = readFileSync(resolve(folder, 'source/dist/LICENSES.txt'), 'utf8');
  for (const name of ['swagger-ui-dist', 'react-dom', '@mui/material'])
    expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
});

test('it brings at most 150 packages', () => {
  // One is the package itself.
  expect(productionPackages().length).toBeGreaterThan(50);
  expect(productionPackages().length).toBeLessThan(150);
});

describeAtNight('in a project', () => expectWorks(() => stranger));
