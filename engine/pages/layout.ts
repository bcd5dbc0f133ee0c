/** The frame of every page. Paths are relative to it, so that a service behind any prefix finds its own. */
import { type Html, html } from './html.ts';

interface Page {
  readonly title: string;
  readonly head?: Html;
  readonly body: Html;
}

export function layout({ title, head = { html: '' }, body }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${ICON}" />
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html> `.html;
}

const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='3' fill='%230b6e5f'/><path d='M4 5h8M4 8h8M4 11h5' stroke='white' stroke-width='1.6' stroke-linecap='round'/></svg>";
