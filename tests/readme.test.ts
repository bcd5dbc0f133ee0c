/** The front page against the code, both ways: settings, problem codes, commands, and every example, in order. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { commands } from '../engine/cli.ts';
import { problemKinds } from '../engine/problem.ts';
import { settingsTable } from '../engine/settings.ts';
import { clientsTable, tableInReadme } from './generators/table.ts';
import { drawPicture, PICTURE } from './readme/picture.ts';
import { readScene } from './readme/scene.ts';
import { type CurlRequest, parseCurl } from './support/curl.ts';
import { readBlocks } from './support/examples.ts';
import { codeRows, section } from './support/markdown.ts';
import { startTestServer } from './support/server.ts';
import { shellCommands } from './support/shell.ts';

const readme = readFileSync('README.md', 'utf8');
const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'));
const rowsOf = (heading: string) =>
  codeRows(section(readme, heading)).map(({ name, cells }) => [name, ...cells.slice(1)]);

test('problem codes and their status are those of the catalogue', () => {
  const rows = rowsOf('### Problems').map(([code, status]) => [code, Number(status)]);
  expect(rows).toEqual(Object.entries(problemKinds).map(([code, { status }]) => [code, status]));
});

test('settings, their defaults and meanings are those of the table', () => {
  const settings = Object.values(settingsTable).map((setting) => [
    setting.name,
    `\`${setting.default}\``,
    setting.description,
  ]);
  expect(rowsOf('## Settings')).toEqual(settings);
});

test('commands are those of the command line', () => {
  const rows = rowsOf('## Commands').map(([command = '', meaning]) => [command.split(' ').at(-1), meaning]);
  expect(rows).toEqual(Object.entries(commands).map(([name, { description }]) => [name, description]));
});

test('clients have the versions of the lock files; "npm run test:generators" tries them and writes the table', () => {
  expect(tableInReadme()).toBe(clientsTable());
});

const OF_NPM = new Set(['ci', 'init', 'install', 'pack']);

test('every npm script that is named is there', () => {
  const named = [...readme.matchAll(/npm (?:run )?([a-z:]+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !OF_NPM.has(name));
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  expect(Object.keys(commands).filter((name) => scripts[name] === undefined)).toEqual([]);
});

describe('the picture', () => {
  const picture = readFileSync(PICTURE, 'utf8');

  test('shows what the service answers today; "npm run picture" redraws it', async () => {
    expect(drawPicture(await readScene())).toBe(picture);
  });

  test('is in the README, and loads nothing', () => {
    expect(readme).toContain(`](${PICTURE})`);
    expect(picture.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|href|url\(|@import|<image|<script/);
  });
});

/** As GitHub, and the page of the guide, name the place of a heading. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

/** `target` is relative to the document: a file, a place in it behind `#`, or both. */
function isThere(file: string, target: string): boolean {
  const [name = '', place] = target.split('#');
  const path = name === '' ? file : join(dirname(file), name);
  if (place === undefined || !existsSync(path)) return existsSync(path);
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].some(([, heading = '']) => anchor(heading) === place);
}

const DOCUMENTS = [
  'README.md',
  'SECURITY.md',
  'engine/README.md',
  'schema/README.md',
  'schema/CLIENTS.md',
  'deploy/README.md',
  'bench/README.md',
];

test.each(DOCUMENTS)('the links of %s lead somewhere', (file) => {
  const links = [...readFileSync(file, 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
  const targets = links.filter((target) => !target.startsWith('http'));
  expect(targets.length).toBeGreaterThan(2);
  expect(targets.filter((target) => !isThere(file, target))).toEqual([]);
});

describe('examples', () => {
  const blocks = readBlocks(readme);
  let folder: string;
  let server: Awaited<ReturnType<typeof startTestServer>>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'readme-'));
    // Whoever follows the README has the file already.
    cpSync('schema', folder, { recursive: true });
    for (const { language, text } of blocks)
      if (language === 'yaml') writeFileSync(join(folder, 'gift-card.yaml'), text);
    server = await startTestServer({ schemaDirectory: folder });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  const ask = ({ method, path, headers, body }: CurlRequest): Promise<Response> =>
    fetch(server.url + path, { method, headers, ...(body === undefined ? {} : { body }) });

  /** What a block after a command says of its answer. A header that it does not show may be anything. */
  const shown: Readonly<Record<string, (text: string, answer: Response) => Promise<void>>> = {
    json: async (text, answer) => expect(await answer.json()).toEqual(JSON.parse(text)),
    http: async (text, answer) => {
      const [head = '', body = ''] = text.split('\n\n');
      const [status = '', ...headers] = head.trim().split('\n');
      expect(`HTTP/1.1 ${answer.status} ${answer.statusText}`).toBe(status);
      expect(
        headers.map((line) => line.split(': ', 1)[0] ?? '').map((name) => `${name}: ${answer.headers.get(name)}`),
      ).toEqual(headers);
      if (body !== '') expect(await answer.json()).toEqual(JSON.parse(body));
    },
  };

  const examples = blocks.flatMap((block, index) => {
    const requests = block.language === 'sh' ? shellCommands(block.text).filter(([program]) => program === 'curl') : [];
    const next = blocks[index + 1];
    return requests.map((words, at) => {
      const request = parseCurl(words.slice(1));
      const answer = at === requests.length - 1 && next !== undefined ? next : undefined;
      return [`line ${block.line}: ${request.method} ${request.path}`, request, answer] as const;
    });
  });

  test.each(examples)('%s', async (_, request, block) => {
    const answer = await ask(request);
    const compare = shown[block?.language ?? ''];
    if (block !== undefined && compare !== undefined) await compare(block.text, answer);
    else expect(answer.status).toBeLessThan(400);
  });
});
