/** The interactive reference: Swagger UI, started by a script of its own, since nothing inline may run. */
import { html, NOTHING } from './html.ts';
import { layout } from './layout.ts';
import { tokenForm, tokenScript } from './token-form.ts';

export const docsPage = (title: string, guarded: boolean): string =>
  layout({
    title: `Reference – ${title}`,
    head: html`<link rel="stylesheet" href="docs/swagger-ui.css" />
      <link rel="stylesheet" href="docs/reference.css" />
      ${tokenScript(guarded)}
      <script src="docs/swagger-ui-bundle.js" defer></script>
      <script src="docs/reference.js" defer></script>`,
    body: html`<p class="back"><a href=".">${title}</a></p>
      ${guarded ? html`<div class="back">${tokenForm(guarded)}</div>` : NOTHING}
      ${
        guarded
          ? html`<main id="reference" data-guarded><p class="back">The operations are shown with a token.</p></main>`
          : html`<main id="reference"></main>`
      }
      <noscript
        ><p class="back">
          The reference needs JavaScript. The document behind it: <a href="openapi.json">openapi.json</a>.
        </p></noscript
      >`,
  });

export const REFERENCE_SCRIPT = `'use strict';
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
const guarded = 'guarded' in document.getElementById('reference').dataset;
let used;
let ui;
const show = () => {
  const token = window.recordsToken;
  if (ui !== undefined) {
    if (token !== used) location.reload();
    return;
  }
  if (guarded && token === undefined) return;
  used = token;
  ui = SwaggerUIBundle({
    url: 'openapi.json',
    dom_id: '#reference',
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    filter: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
    requestInterceptor: (request) => {
      if (request.loadSpec && guarded) request.headers.Authorization = 'Bearer ' + token;
      return request;
    },
    onComplete: () => {
      if (guarded) ui.preauthorizeApiKey('token', token);
    },
  });
};
document.addEventListener('token', show);
if (!guarded || 'recordsToken' in window) show();
`;

export const REFERENCE_STYLE = `
html { color-scheme: light dark; }
body { margin: 0; background: #fbfbfa; font-family: system-ui, sans-serif; }
html.dark-mode body { background: #1c2022; }
.back { max-width: 1460px; margin: 0 auto; padding: 1.25rem 20px 0; }
.back a { color: #0b6e5f; text-underline-offset: 0.2em; }
html.dark-mode .back { color: #e4e6e6; }
html.dark-mode .back a { color: #6cc8b6; }
/* There is one server: the one that this page comes from. What is left is Authorize, where tokens are needed. */
main:not([data-guarded]) .scheme-container, .swagger-ui .scheme-container .schemes > .schemes-server-container { display: none; }
.access { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; }
.access[hidden] { display: none; }
.access input { flex: 0 1 22rem; min-width: 0; min-height: 2.25rem; padding: 0 0.6rem; font: inherit; }
.access button { min-height: 2.25rem; padding: 0 0.9rem; font: inherit; }
.access p { flex-basis: 100%; margin: 0; }
.swagger-ui .info { margin: 1.5rem 0 2rem; }
/* Where there is little room, what a type is stands below its name. */
@media (max-width: 640px) {
  .swagger-ui .opblock-tag { flex-wrap: wrap; }
  .swagger-ui .opblock-tag small { order: 3; flex-basis: 100%; padding: 0.4rem 0 0; }
  .swagger-ui .opblock-tag a { flex: 1; }
}
/* Filters are short. */
.swagger-ui .parameters-col_description textarea { min-height: 0; height: 4.5em; max-width: 340px; }
a:focus-visible, button:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
`;
