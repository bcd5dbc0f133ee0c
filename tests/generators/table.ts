/** The table of clients in the README: `npm run test:generators` writes it, with the versions of the lock files. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface TriedClient {
  readonly name: string;
  /** Whose lock file has its version. */
  readonly folder: 'tests/generators' | 'tests/tools' | 'tests/admin';
  readonly does: string;
  readonly script: string;
}

const GENERATED =
  'compiles under strict TypeScript; lists, filters, pages, creates nested records, updates with If-Match, deletes';
const generator = (name: string): TriedClient => ({
  name,
  folder: 'tests/generators',
  does: GENERATED,
  script: 'test:generators',
});
const inGenerators = (name: string, does: string): TriedClient => ({ ...generator(name), does });
const inTools = (name: string, does: string, script = 'test:tools'): TriedClient => ({
  name,
  folder: 'tests/tools',
  does,
  script,
});

const ADMIN = 'lists, filters, sorts, pages, creates, edits and deletes every type in Chromium, without an adapter';
const inAdmin = (name: string, does: string): TriedClient => ({
  name,
  folder: 'tests/admin',
  does,
  script: 'test:admin',
});

const CLIENTS: readonly TriedClient[] = [
  generator('@hey-api/openapi-ts'),
  generator('@kubb/plugin-client'),
  generator('openapi-typescript'),
  generator('openapi-typescript-codegen'),
  generator('orval'),
  generator('swagger-typescript-api'),
  inGenerators('openapi-mcp-generator', 'its server compiles, and its tools list, filter, create, update and delete'),
  inGenerators('@modelcontextprotocol/inspector', 'lists and calls the tools of `/mcp` and `records mcp`'),
  inGenerators('jest-openapi', 'finds real responses as the document says'),
  inGenerators('openapi-enforcer', 'finds real requests and responses as the document says'),
  inAdmin('react-admin', ADMIN),
  inAdmin('ra-data-json-server', 'the provider of react-admin for `/json-server`'),
  inAdmin('ra-data-simple-rest', 'the provider of react-admin for `/simple-rest`'),
  inAdmin('@refinedev/simple-rest', `with refine, at \`/json-server\`: ${ADMIN}`),
  inTools('@modelcontextprotocol/client', 'uses the tools of `/mcp` and `records mcp`'),
  inTools('swagger-client', 'calls operations of the document'),
  inTools('newman', 'runs the requests of a Postman collection made from the document'),
  inTools('@redocly/cli', 'lints the document'),
  inTools('@stoplight/spectral-cli', 'lints the document'),
];

const README = 'README.md';
const [BEGIN, END] = ['<!-- clients: written by npm run test:generators -->', '<!-- /clients -->'];

function versionOf({ name, folder }: TriedClient): string {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  const { version } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined) throw new Error(`${name} is not in the lock file of ${folder}`);
  return version;
}

/** As the formatter writes it. */
export function clientsTable(clients: readonly TriedClient[] = CLIENTS): string {
  const head = ['tried with', 'version', 'what it does', 'shown by'];
  const rows = clients.map((client) => [
    `\`${client.name}\``,
    versionOf(client),
    client.does,
    `\`npm run ${client.script}\``,
  ]);
  const widths = head.map((title, at) => Math.max(...[head, ...rows].map((row) => (row[at] ?? title).length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** What stands in the README now. */
export const tableInReadme = (): string | undefined =>
  readFileSync(README, 'utf8').split(BEGIN)[1]?.split(END)[0]?.trim();

export function writeTable(isShown: (client: TriedClient) => boolean): void {
  const text = readFileSync(README, 'utf8');
  const [before = '', rest = ''] = text.split(BEGIN);
  const table = clientsTable(CLIENTS.filter(isShown));
  const written = `${before}${BEGIN}\n\n${table}\n\n${END}${rest.split(END)[1] ?? ''}`;
  if (written !== text) writeFileSync(README, written);
}
