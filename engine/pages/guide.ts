/** The guide for client authors: the pages of docs/reference that are about requests, as one page. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_FOLDER } from '../package.ts';

const PAGES = ['reading', 'writing', 'problems'];

/** `[text](page.md#heading)`, a link to another file. */
const FILE_LINK = /\[([^\]]+)\]\((?!https?:)([\w./-]+\.md)(#[\w-]+)?\)/g;

const COMMENT = /^<!--.*?-->\n+/;

/** Where the examples send their requests. */
const LOCAL = 'http://127.0.0.1:3000';

/**
 * As Markdown, with `publicUrl` in its examples unless that is empty. Links between its parts lead within the page; what
 * other files say is named without a link.
 */
export async function readGuide(publicUrl: string): Promise<string> {
  const files = PAGES.map((name) => readFile(join(PACKAGE_FOLDER, 'docs/reference', `${name}.md`), 'utf8'));
  const parts = (await Promise.all(files)).map((text) => text.replace(COMMENT, ''));
  const text = parts.join('\n').replaceAll(LOCAL, publicUrl || LOCAL);
  return text.replaceAll(FILE_LINK, (_, words: string, file: string, heading?: string) => {
    const name = file.replace('.md', '');
    return PAGES.includes(name) ? `[${words}](${heading ?? `#${name}`})` : words;
  });
}
