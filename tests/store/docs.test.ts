/** The examples of the documents that are about the shipped store, in order, as a reader would send them. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBlocks, readExamples, replay } from '../support/examples.ts';
import { startTestServer } from '../support/server.ts';
import { describeStore } from '../support/shipped.ts';

describeStore.each(['README.md', 'schema/CLIENTS.md'])('%s', (file) => {
  const text = readFileSync(file, 'utf8');
  const folder = mkdtempSync(join(tmpdir(), 'documents-'));
  let server: Awaited<ReturnType<typeof startTestServer>>;

  beforeAll(async () => {
    cpSync('schema', folder, { recursive: true });
    // A reader of the README writes its descriptor.
    for (const [index, block] of readBlocks(text).entries())
      if (block.language === 'yaml') writeFileSync(join(folder, `${index}.yaml`), block.text);
    server = await startTestServer({ schemaDirectory: folder });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test.each(readExamples(text, file))('$title', async (example) => {
    const { status, body } = await replay(server.url, example);
    if (example.answer === undefined) expect({ body, isError: status >= 400 }).toEqual({ body, isError: false });
    else expect(body).toEqual(example.answer);
  });
});
