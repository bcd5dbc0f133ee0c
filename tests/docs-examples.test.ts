/** Replays the curl examples of the documents, in order, against the service on an empty database. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBlocks, readExamples, replay } from './support/examples.ts';
import { startTestServer } from './support/server.ts';

/** A document, and the schema that its examples are about: a folder, or the descriptors that the document shows. */
const DOCUMENTS: readonly { readonly file: string; readonly schema: string | undefined }[] = [
  { file: 'schema/README.md', schema: undefined },
  { file: 'schema/CLIENTS.md', schema: 'schema' },
];

function shownDescriptors(markdown: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'shown-'));
  const shown = readBlocks(markdown).filter(({ language, text }) => language === 'yaml' && text.startsWith('type:'));
  for (const [index, { text }] of shown.entries()) writeFileSync(join(folder, `${index}.yaml`), text);
  return folder;
}

describe.each(DOCUMENTS)('$file', ({ file, schema }) => {
  const markdown = readFileSync(file, 'utf8');
  const folder = schema ?? shownDescriptors(markdown);
  let server: Awaited<ReturnType<typeof startTestServer>>;

  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: folder });
  });

  afterAll(async () => {
    await server.close();
    if (schema === undefined) rmSync(folder, { recursive: true });
  });

  // An example without an answer must at least succeed.
  test.each(readExamples(markdown, file))('$title', async (example) => {
    const { status, body } = await replay(server.url, example);
    if (example.answer === undefined) expect(status).toBeLessThan(400);
    else expect(body).toEqual(example.answer);
  });
});
