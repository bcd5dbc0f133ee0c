/** Pages for client authors: reference, guide, `/llms.txt`; and the token form. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Marked } from 'marked';
import { API_ROOT } from '../http/routes.ts';
import type { Model, RecordType } from '../model/model.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import { html, type Html, layout, NO_HTML, type ServiceInfo } from './page.ts';

// Swagger UI, started by a file: the policy forbids inline scripts.

export const docsPage = (title: string, guarded: boolean): string =>
  layout({
    title: `Reference – ${title}`,
    head: html`<link rel="stylesheet" href="docs/swagger-ui.css" />
      <link rel="stylesheet" href="docs/reference.css" />
      ${tokenScript(guarded)}
      <script src="docs/swagger-ui-bundle.js" defer></script>
      <script src="docs/reference.js" defer></script>`,
    body: html`<p class="back"><a href=".">${title}</a></p>
      ${guarded ? html`<div class="back">${tokenForm(guarded)}</div>` : NO_HTML}
      <main id="reference" ${guarded ? html` data-guarded` : NO_HTML}>
        ${guarded ? html`<p class="back">Enter a token to see the operations.</p>` : NO_HTML}
      </main>
      <noscript
        ><p class="back">
          The reference needs JavaScript. The document behind it: <a href="openapi.json">openapi.json</a>.
        </p></noscript
      >`,
  });

/** A script keeps the token for one tab and sends it in a header, never in a URL or a cookie. */
export const tokenForm = (guarded: boolean): Html =>
  guarded
    ? html`<form class="access" id="access" data-page="." hidden>
          <label for="token">Token</label>
          <input id="token" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" required />
          <button id="use">Use</button>
          <button id="forget" type="button" hidden>Forget</button>
          <p id="access-said" role="status"></p>
        </form>
        <noscript><p class="quiet">Entering a token needs JavaScript.</p></noscript>`
    : NO_HTML;

export const tokenScript = (guarded: boolean): Html =>
  guarded ? html`<script src="docs/token.js" defer></script>` : NO_HTML;

// The guide: one page made of docs/reference.

const PAGES = ['reading', 'writing', 'problems'];

/** `[text](page.md#heading)`, a link to another file. */
const FILE_LINK = /\[([^\]]+)\]\((?!https?:)([\w./-]+\.md)(#[\w-]+)?\)/g;

const COMMENT = /^<!--.*?-->\n+/;

/** Host in the examples. */
const LOCAL = 'http://127.0.0.1:3000';

const MARKED = new Marked({
  async: false,
  renderer: {
    /** Same anchors as GitHub: the guide's links use them. */
    heading({ depth, text, tokens }) {
      const anchor = text
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-');
      return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
  },
});

/** Links between PAGES become anchors; other links to files become text. */
export async function guidePage(title: string, address: string): Promise<string> {
  const files = PAGES.map((name) => readFile(join(PACKAGE_FOLDER, 'docs/reference', `${name}.md`), 'utf8'));
  const parts = (await Promise.all(files)).map((text) => text.replace(COMMENT, ''));
  const markdown = parts
    .join('\n')
    .replaceAll(LOCAL, () => address)
    .replaceAll(FILE_LINK, (_, words: string, file: string, heading?: string) => {
      const name = file.replace('.md', '');
      return PAGES.includes(name) ? `[${words}](${heading ?? `#${name}`})` : words;
    });
  return layout({
    title: `Guide for client authors – ${title}`,
    head: html`<link rel="stylesheet" href="style.css" />`,
    body: html`<header class="guide">
        <p class="version"><a href="..">${title}</a></p>
      </header>
      <main class="guide">${{ html: MARKED.parse(markdown, { async: false }) }}</main>
      <footer class="guide"><a href="../docs">Interactive reference</a></footer>`,
  });
}

// `/llms.txt` is an introduction for agents (llmstxt.org).

/** More types would crowd the context. */
const MAX_LISTED = 100;

/** `base`: URL prefix. */
export function llmsText({ types }: Model, about: Pick<ServiceInfo, 'title' | 'guarded' | 'agents'>, base: string) {
  const { title, guarded, agents } = about;
  const served = [...types.values()].filter(({ operations }) => operations.size > 0);
  const link = (path: string): string => `[${base}${path}](${base}${path})`;
  const at = ({ path }: RecordType): string => `${base}${API_ROOT}${encodeURIComponent(path)}`;
  const entries = served.map(
    (type) => `- [${type.name}](${at(type)}): ${oneLine(type.description)} (${[...type.operations].join(', ')})`,
  );
  const token =
    '- Each request needs a token: `Authorization: Bearer TOKEN`. The operator of the service gives tokens out.';
  const tools = `- Tools: connect an MCP client to ${link('/mcp')} (streamable HTTP). Call \`list_types\` first, then \`describe_type\`.`;
  const lists = served
    .filter(({ operations }) => operations.has('list'))
    .map((type) => `- HTTP: \`GET ${at(type)}?_cnd[limit]=0,20\` lists the first 20 records of a type.`);
  return [
    `# ${oneLine(title)}`,
    '',
    '> Typed records with relations, to read and write over HTTP in JSON, or with the tools of the Model Context Protocol.',
    '',
    '## Begin',
    '',
    ...(guarded ? [token] : []),
    ...(agents ? [tools] : []),
    ...lists.slice(0, 1),
    '- Safe changes: send the `ETag` of a GET back as `If-Match`. With `dryRun=true`, a write reports its effects and changes nothing.',
    '- A refused request answers with everything that is wrong with it, where, and what was probably meant.',
    '',
    '## Documents',
    '',
    `- ${link('/openapi.json')}: all operations, parameters and schemas, as OpenAPI 3.1`,
    `- ${link('/openapi.json?profile=simple')}: the same as OpenAPI 3.0, for generators of clients`,
    `- ${link('/docs')}: the interactive reference, for people`,
    `- ${link('/docs/clients')}: the guide for authors of clients, with examples`,
    ...(entries.length === 0 ? [] : ['', '## Record types', '', ...entries.slice(0, MAX_LISTED)]),
    ...(entries.length > MAX_LISTED ? [`- and ${entries.length - MAX_LISTED} more`] : []),
    '',
  ].join('\n');
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
