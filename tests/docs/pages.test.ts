/** The examples of the documentation, page by page: each one runs, and prints what the page shows. */
import { globSync, readFileSync } from 'node:fs';
import { matching, type Output, Reader, type Step, stepsOf } from './page.ts';

const PAGES = ['README.md', ...globSync('docs/**/*.md').toSorted()];

const shows: Readonly<Record<string, (shown: string, output: Output) => void>> = {
  json: (shown, { text }) => expect(JSON.parse(text)).toEqual(matching(JSON.parse(shown))),
  text: (shown, { text }) => expect(text.trimEnd()).toBe(shown.trimEnd()),
  csv: (shown, { text }) => expect(text.replaceAll('\r', '').trimEnd()).toBe(shown.trimEnd()),
  http: (shown, { text, status, headers }) => {
    const [head = '', body = ''] = shown.trimEnd().split('\n\n');
    const [line = '', ...fields] = head.split('\n');
    expect(line).toContain(`HTTP/1.1 ${status} `);
    for (const field of fields) {
      const [name = '', value = ''] = field.split(/: (.*)/);
      expect(`${name}: ${headers?.get(name)}`).toEqual(value.includes('…') ? expect.any(String) : field);
    }
    if (body !== '') expect(JSON.parse(text)).toEqual(matching(JSON.parse(body)));
  },
};

describe.each(PAGES.map((file) => [file, stepsOf(readFileSync(file, 'utf8'))] as const))('%s', (_, steps) => {
  let reader: Reader;
  beforeAll(() => {
    reader = new Reader();
  });
  afterAll(() => reader.close());

  const titled = steps.map((step): [string, Step] => [
    `line ${step.block.line}: ${step.block.text.split('\n', 1)[0]}`,
    step,
  ]);
  if (titled.length === 0) test('has no examples', () => {});
  else
    test.each(titled)('%s', async (_title, step) => {
      const output = await reader.follow(step);
      const { shown } = step;
      if (shown !== undefined) shows[shown.language]?.(shown.text, output);
      else if (output.status !== undefined) expect(output.status).toBeLessThan(400);
    });
});
