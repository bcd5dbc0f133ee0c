/** The guide for client authors as a page. */
import { html } from './html.ts';
import { layout } from './layout.ts';
import { markdownToHtml } from './markdown.ts';

export const guidePage = (title: string, markdown: string): string =>
  layout({
    title: `Guide for client authors – ${title}`,
    head: html`<link rel="stylesheet" href="style.css" />`,
    body: html`<header class="guide">
        <p class="version"><a href="..">${title}</a></p>
      </header>
      <main class="guide">${markdownToHtml(markdown)}</main>
      <footer class="guide"><a href="../docs">Interactive reference</a></footer>`,
  });
