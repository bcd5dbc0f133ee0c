/** Runs two public linters on OpenAPI documents, with their strictest rules. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { JsonObject } from '../../../engine/json/json.ts';

/** Neither may use the network. */
const ENVIRONMENT = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

/** Runs a program of this package; the exit code is for the caller to judge by what was printed. */
function run(program: string, options: readonly string[], cwd: string): Promise<string> {
  const file = resolve('tests/nightly/tools/node_modules/.bin', program);
  return new Promise((done) => {
    execFile(file, options, { cwd, env: ENVIRONMENT, maxBuffer: 2 ** 28 }, (_, out, errors) => done(out || errors));
  });
}

interface Finding {
  readonly rule: string;
  readonly place: string;
  readonly message: string;
}

export interface Findings {
  readonly redocly: readonly Finding[];
  readonly spectral: readonly Finding[];
}

interface RedoclyProblem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer?: string; readonly source: { readonly ref: string } }[];
}

interface RedoclyReport {
  readonly problems: readonly RedoclyProblem[];
}

async function redocly(folder: string, files: readonly string[]): Promise<readonly Finding[]> {
  await writeFile(join(folder, 'redocly.yaml'), 'extends: [recommended-strict]\n');
  const options = ['lint', '--config', 'redocly.yaml', '--format', 'json', '--max-problems', '1000', ...files];
  const text = await run('redocly', options, folder);
  // One report after the other, one for each file.
  const reports = text.split(/(?<=^\})\s*(?=\{)/m).map((report): RedoclyReport => JSON.parse(report));
  if (reports.length !== files.length) throw new Error(`redocly read ${reports.length} files of ${files.length}`);
  return reports
    .flatMap(({ problems }) => problems)
    .map(({ ruleId, message, location: [first] }) => ({
      rule: ruleId,
      message,
      place: `${first?.source.ref}${first?.pointer}`,
    }));
}

interface SpectralProblem {
  readonly code: string;
  readonly message: string;
  readonly path: readonly string[];
  readonly source: string;
}

async function spectral(folder: string, files: readonly string[]): Promise<readonly Finding[]> {
  await writeFile(join(folder, 'spectral.yaml'), 'extends: [spectral:oas]\n');
  const output = join(folder, 'spectral.json');
  const options = ['lint', '--ruleset', 'spectral.yaml', '--format', 'json', '--output', output, ...files];
  await run('spectral', options, folder);
  const problems: readonly SpectralProblem[] = JSON.parse(await readFile(output, 'utf8'));
  return problems.map(({ code, message, path, source }) => ({
    rule: code,
    message,
    place: `${source}#/${path.join('/')}`,
  }));
}

type Documents = Readonly<Record<string, JsonObject>>;

async function inFolder<T>(
  documents: Documents,
  use: (folder: string, files: readonly string[]) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'lint-'));
  for (const [name, document] of Object.entries(documents))
    await writeFile(join(folder, `${name}.json`), JSON.stringify(document));
  const files = Object.keys(documents).map((name) => `${name}.json`);
  return await use(folder, files);
}

/** By the name of the document, what is found in any of them. */
export const lint = (documents: Documents): Promise<Findings> =>
  inFolder(documents, async (folder, files) => {
    const found = await Promise.all([redocly(folder, files), spectral(folder, files)]);
    return { redocly: found[0], spectral: found[1] };
  });
