/** The documents: each descriptor that the manual shows is valid, its requests work, and links and npm scripts exist. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { checkSchema } from '../engine/check.ts';
import { readBlocks, readExamples, replay } from './support/examples.ts';
import { startTestServer } from './support/server.ts';

const DOCUMENTS = [
  'README.md',
  'SECURITY.md',
  'engine/README.md',
  'schema/README.md',
  'schema/CLIENTS.md',
  'deploy/README.md',
  'bench/README.md',
].filter((file) => existsSync(file));

/** The fragment of a heading, as GitHub makes it. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

/** `target` is relative to the document: a file, a heading in it behind `#`, or both. */
function isThere(file: string, target: string): boolean {
  const [name = '', place] = target.split('#');
  const path = name === '' ? file : join(dirname(file), name);
  if (place === undefined || !existsSync(path)) return existsSync(path);
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].some(([, heading = '']) => anchor(heading) === place);
}

describe.each(DOCUMENTS)('%s', (file) => {
  const text = readFileSync(file, 'utf8');

  test('each link leads to a file or a heading', () => {
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !target.startsWith('http') && !isThere(file, target))).toEqual([]);
  });

  test('each npm script exists', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    const named = [...text.matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

describe('schema/README.md', () => {
  const manual = readFileSync('schema/README.md', 'utf8');
  const blocks = readBlocks(manual).filter(({ language, text }) => language === 'yaml' && !text.startsWith('#'));
  const complete = blocks.filter(({ text }) => text.startsWith('type:'));
  const fragments = blocks.filter(({ text }) => !text.startsWith('type:'));
  const folder = mkdtempSync(join(tmpdir(), 'manual-'));
  const fragment = join(folder, 'fragment');
  let server: Awaited<ReturnType<typeof startTestServer>>;

  beforeAll(async () => {
    mkdirSync(join(folder, 'complete'));
    mkdirSync(fragment);
    for (const [index, { text }] of complete.entries())
      for (const directory of [join(folder, 'complete'), fragment])
        writeFileSync(join(directory, `${index}.yaml`), text);
    server = await startTestServer({ schemaDirectory: join(folder, 'complete') });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test('the complete descriptors are valid together', () => {
    expect(checkSchema(join(folder, 'complete')).diagnostics).toEqual([]);
  });

  test.each(fragments)('the fragment at line $line is valid', ({ text }) => {
    writeFileSync(join(fragment, 'fragment.yaml'), `type: Fragment\n${text}`);
    expect(checkSchema(fragment).diagnostics).toEqual([]);
  });

  test.each(readExamples(manual, 'schema/README.md'))('$title', async (example) => {
    const { status, body } = await replay(server.url, example);
    if (example.answer === undefined) expect({ status, body }).toEqual({ status: expect.any(Number), body });
    else expect(body).toEqual(example.answer);
    expect(status).toBeLessThan(500);
  });
});
