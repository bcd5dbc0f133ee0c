/** The frame of every page. Paths are relative to it, so that a service behind any prefix finds its own. */

interface PageLayout {
  readonly title: string;
  readonly head?: Html;
  readonly body: Html;
}

export function layout({ title, head = { html: '' }, body }: PageLayout): string {
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

/** HTML by template: values are escaped, unless they are HTML already. */
export interface Html {
  readonly html: string;
}

type HtmlPart = string | number | Html | readonly Html[];

export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  const pieces = strings.map((text, index) => text + (index < parts.length ? filled(parts[index] ?? '') : ''));
  return { html: pieces.join('') };
}

function filled(part: HtmlPart): string {
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part));
  return 'html' in part ? part.html : part.map((item) => item.html).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);

export const NO_HTML: Html = { html: '' };
