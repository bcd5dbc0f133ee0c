/** What two public linters say of OpenAPI documents, under their strictest rules, and of their security by the rules of OWASP. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { JsonObject } from '../../engine/json.ts';

/** Neither may ask anything of the network. */
const ENVIRONMENT = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

/** Runs a program of this package; the exit code is for the caller to judge by what was printed. */
function run(program: string, options: readonly string[], cwd: string): Promise<string> {
  const file = resolve('tests/tools/node_modules/.bin', program);
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

/** A rule that the documents do not follow, or not everywhere. */
export interface Exception {
  readonly rule: string;
  /** Where; everywhere if it is not given. */
  readonly place?: RegExp;
  readonly reason: string;
}

export const EXCEPTIONS: readonly Exception[] = [
  {
    rule: 'owasp:api1:2023-no-numeric-ids',
    reason:
      'Identifiers are integers by the interface that the service was made for. Nobody sees a record by knowing its number: that takes a token that may read its type.',
  },
  {
    rule: 'owasp:api3:2023-no-additionalProperties',
    reason: 'Open types keep the keys that their descriptors do not name.',
  },
  {
    rule: 'owasp:api4:2023-integer-format',
    place: /\/(?:Groups-Limit|Limit-\d+|paths\/.*\/parameters\/\d+)\/schema\/items/,
    reason: 'Offset and limit: Swagger UI complains of items with a format, and their maximum says as much.',
  },
  {
    rule: 'owasp:api4:2023-string-restricted',
    reason: 'Free texts have no pattern; one that allows everything would say nothing. Those of descriptors are there.',
  },
  {
    rule: 'owasp:api4:2023-string-limit',
    place: /\/responses\/|\/headers\/|schemas\/(?!\w*Input\/|New|Changed|Linked)/,
    reason: 'Responses: what is stored may be longer than requests may be today. All that requests hold is limited.',
  },
  {
    rule: 'owasp:api4:2023-array-limit',
    place: /\/responses\/|schemas\/(?!\w*Input\/|New|Changed|Linked)/,
    reason:
      'Responses: a list without a limit is the whole list, and arrays in fields are as long as they were written.',
  },
  {
    rule: 'owasp:api8:2023-define-cors-origin',
    reason: 'Sent only to pages of the origins in CORS_ORIGINS, by default to none; browsers read it, programs do not.',
  },
  {
    rule: 'owasp:api9:2023-inventory-access',
    reason: 'The document comes from the service itself, which does not know for whom it was put up.',
  },
  { rule: 'owasp:api9:2023-inventory-environment', reason: 'Nor in which environment.' },
];

const excepts =
  ({ rule, place }: Finding) =>
  (one: Exception): boolean =>
    one.rule === rule && (one.place?.test(place) ?? true);

/** Those without a reason, and the exceptions that nothing needs. */
export function judged(findings: readonly Finding[]): {
  readonly faults: readonly Finding[];
  readonly idle: readonly Exception[];
} {
  return {
    faults: findings.filter((finding) => !EXCEPTIONS.some(excepts(finding))),
    idle: EXCEPTIONS.filter((one) => !findings.some((finding) => excepts(finding)(one))),
  };
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

const OWASP = resolve('tests/tools/node_modules/@stoplight/spectral-owasp-ruleset/dist/ruleset.mjs');

async function spectral(folder: string, files: readonly string[], ruleset: string): Promise<readonly Finding[]> {
  await writeFile(join(folder, 'spectral.yaml'), `extends: [${JSON.stringify(ruleset)}]\n`);
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
  try {
    for (const [name, document] of Object.entries(documents))
      await writeFile(join(folder, `${name}.json`), JSON.stringify(document));
    const files = Object.keys(documents).map((name) => `${name}.json`);
    return await use(folder, files);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** By the name of the document, what is found in any of them. */
export const lint = (documents: Documents): Promise<Findings> =>
  inFolder(documents, async (folder, files) => {
    const found = await Promise.all([redocly(folder, files), spectral(folder, files, 'spectral:oas')]);
    return { redocly: found[0], spectral: found[1] };
  });

export const lintSecurity = (documents: Documents): Promise<readonly Finding[]> =>
  inFolder(documents, (folder, files) => spectral(folder, files, OWASP));
