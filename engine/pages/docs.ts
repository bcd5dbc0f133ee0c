/** Pages for client authors: the interactive reference and the guide, and the form for a token. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Marked, type RendererObject } from 'marked';
import { PACKAGE_FOLDER } from '../process.ts';
import { escaped, html, type Html, layout, NO_HTML } from './layout.ts';

// The reference is Swagger UI, started by a script of its own, since nothing inline may run.

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
      ${
        guarded
          ? html`<main id="reference" data-guarded><p class="back">Enter a token to see the operations.</p></main>`
          : html`<main id="reference"></main>`
      }
      <noscript
        ><p class="back">
          The reference needs JavaScript. The document behind it: <a href="openapi.json">openapi.json</a>.
        </p></noscript
      >`,
  });

// The one place where people enter a token. A script keeps it while the tab is open, and sends it in a header as every
// other client does: it is never in a URL or a cookie, and other tabs and later visitors cannot see it.

/** `page`: the page to fetch with the token; the start page shows whether it is known. */
export const tokenForm = (guarded: boolean, page = '.'): Html =>
  guarded
    ? html`<form class="access" id="access" data-page="${page}" hidden>
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

// The guide: Markdown, in which HTML is text and links lead to pages only.

export const guidePage = (markdown: string, title: string): string =>
  layout({
    title: `Guide for client authors – ${title}`,
    head: html`<link rel="stylesheet" href="style.css" />`,
    body: html`<header class="guide">
        <p class="version"><a href="..">${title}</a></p>
      </header>
      <main class="guide">${{ html: renderMarkdown(markdown) }}</main>
      <footer class="guide"><a href="../docs">Interactive reference</a></footer>`,
  });

/** The names that GitHub gives to headings: the guide links to its own sections. */
const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

/** A scheme may be written with entities. */
const SAFE_LINK = /^(?:https?:\/\/|[^:&]*$)/i;

const RENDERER: RendererObject = {
  html: ({ text }) => escaped(text),
  heading({ depth, text, tokens }) {
    return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
  },
  /** False leaves it to the library. */
  link: ({ href, raw }) => (SAFE_LINK.test(href) ? false : escaped(raw)),
  image: ({ raw }) => escaped(raw),
};

const MARKED = new Marked({ async: false, renderer: RENDERER });

export const renderMarkdown = (markdown: string): string => MARKED.parse(markdown, { async: false });

// The guide is the pages of docs/reference that are about requests, as one page.

const PAGES = ['reading', 'writing', 'problems'];

/** `[text](page.md#heading)`, a link to another file. */
const FILE_LINK = /\[([^\]]+)\]\((?!https?:)([\w./-]+\.md)(#[\w-]+)?\)/g;

const COMMENT = /^<!--.*?-->\n+/;

/** The address in the examples of the guide. */
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
