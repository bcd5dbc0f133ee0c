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

/** The style sheet of the pages: system fonts, one accent, light and dark as the reader's system has it. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --ink: #1d2329; --quiet: #5b6570; --line: #e2e4e1; --accent: #0b6e5f; --tint: #edf4f2;
  --shade: 0 1px 2px rgb(0 0 0 / 4%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181b; --card: #1b2024; --ink: #e4e7e9; --quiet: #9ba5ad; --line: #2f363b; --accent: #6cc8b6; --tint: #1f2c2b;
    --shade: none;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, header, footer { max-width: 70rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3.5rem; padding-bottom: 1.5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0; letter-spacing: -0.02em; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 3rem 0 1rem; letter-spacing: -0.01em; }
h3 { font-size: 1.05rem; margin: 0; }
p { margin: 0.4rem 0 0; max-width: 44rem; }
.quiet { color: var(--quiet); }
.version { font-size: 0.85rem; color: var(--quiet); font-variant-numeric: tabular-nums; margin: 0 0 0.35rem; }
a { color: var(--accent); text-underline-offset: 0.2em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
a:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: 0.5rem 1rem; }
nav ul, .links { list-style: none; display: flex; flex-wrap: wrap; gap: 0.5rem 1.25rem; padding: 0; margin: 1.25rem 0 0; }
nav .main { background: var(--accent); color: var(--page); text-decoration: none; padding: 0.5rem 1rem; border-radius: 6px; }
nav li { display: flex; align-items: center; min-height: 2.5rem; }
.access { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 0.75rem; margin-top: 1.25rem; padding: 1rem 1.2rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.access[hidden] { display: none; }
.access label { font-weight: 600; }
.access input { flex: 1 1 12rem; min-width: 0; max-width: 26rem; min-height: 2.5rem; padding: 0 0.7rem; font: inherit; color: inherit; background: var(--page); border: 1px solid var(--quiet); border-radius: 6px; }
.access button { min-height: 2.5rem; padding: 0 1rem; font: inherit; color: var(--accent); background: var(--tint); border: 1px solid var(--line); border-radius: 6px; cursor: pointer; }
.access button:focus-visible, .access input:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.access p { flex-basis: 100%; margin: 0; color: var(--quiet); font-size: 0.92rem; }
.access p:empty { display: none; }
code { font: 0.85em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.types { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem; list-style: none; padding: 0; margin: 0; }
.types li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1.1rem 1.2rem; box-shadow: var(--shade); display: flex; flex-direction: column; }
.types .quiet { font-size: 0.92rem; }
.types code { color: var(--quiet); }
.types .links { margin-top: auto; padding-top: 0.9rem; font-size: 0.92rem; }
.related { margin-top: 1rem; columns: 18rem; column-gap: 2rem; }
.related div { break-inside: avoid; padding-bottom: 0.8rem; }
.related dt { font-weight: 600; }
.related dd { margin: 0; color: var(--quiet); font-size: 0.92rem; }
.guide { max-width: 46rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.9rem 1.1rem; white-space: pre-wrap; }
.guide h3 { margin-top: 1.8rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin-top: 0.8rem; }
th, td { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); padding: 0.35rem 0.9rem 0.35rem 0; }
footer { padding-top: 3rem; padding-bottom: 3rem; color: var(--quiet); font-size: 0.88rem; }
`;

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
