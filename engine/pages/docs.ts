/** Pages for client authors: the interactive reference and the guide, and the form for a token. */
import { Marked, type RendererObject } from 'marked';
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

export const REFERENCE_SCRIPT = `'use strict';
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
const guarded = 'guarded' in document.getElementById('reference').dataset;
let used;
let ui;
/* Who has opened this page at another address than the public one asks where the page came from. */
const reached = (url) => {
  const here = new URL('.', location.href).href;
  const server = ui.specSelectors.specJson().getIn(['servers', 0, 'url']) ?? '';
  const there = new URL(server.replace(/\\/*$/, '/'), here).href;
  return there !== here && url.startsWith(there) ? here + url.slice(there.length) : url;
};
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
      if (!request.loadSpec) request.url = reached(request.url);
      else if (guarded) request.headers.Authorization = 'Bearer ' + token;
      return request;
    },
    onComplete: () => {
      if (guarded) ui.preauthorizeApiKey('token', token);
    },
  });
};
/* What few readers need is folded: parameters that may be left out, other responses than the usual one, headers. */
const FOLDED = [
  ['.parameters-container .parameters', 'all parameters'],
  ['.responses-inner > .responses-table', 'all responses'],
];
const addButtons = () => {
  for (const [selector, what] of FOLDED)
    for (const head of document.querySelectorAll(selector + ' > thead:not(:has(.unfold))')) {
      const button = document.createElement('button');
      const say = (isOpen) => {
        head.parentElement.toggleAttribute('data-unfolded', isOpen);
        button.setAttribute('aria-expanded', isOpen);
        button.textContent = (isOpen ? '▾ Hide ' : '▸ Show ') + what;
      };
      button.type = 'button';
      button.className = 'unfold';
      button.addEventListener('click', () => say(!('unfolded' in head.parentElement.dataset)));
      say(false);
      head.querySelector('tr > :nth-child(2)').append(button);
    }
};
new MutationObserver(addButtons).observe(document.getElementById('reference'), { childList: true, subtree: true });
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
/* An operation fits on a screen. What few readers need is folded, and what there is only one of needs no choice. */
.swagger-ui button.unfold { margin: 0 0 0 1rem; padding: 0.1rem 0.5rem; border: 0; background: none; color: inherit; font: inherit; cursor: pointer; }
.swagger-ui .parameters:not([data-unfolded]) tr[data-param-name]:not(:has(.parameter__name.required), [data-param-name='_cnd[limit]'], [data-param-name='_cnd[orderBy]'], [data-param-name='by'], [data-param-name='measure']),
.swagger-ui .parameters:not([data-unfolded]):has([data-param-name='measure']) tr[data-param-name='_cnd[orderBy]'],
.swagger-ui .responses-inner > .responses-table:not([data-unfolded]) > tbody > .response[data-code^='2'] ~ .response:not(.opblock-post .response[data-code='201']),
.swagger-ui .opblock-post .responses-inner > .responses-table:not([data-unfolded]) .response[data-code='200']:has(~ .response[data-code='201']),
.swagger-ui .responses-inner > .responses-table:not([data-unfolded]) .headers-wrapper,
.swagger-ui .response-col_links,
.swagger-ui .response-control-media-type__accept-message,
.swagger-ui :is(.examples-select, .response-control-media-type, .response-control-examples):has(option:only-child) { display: none; }
.swagger-ui .opblock-description-wrapper { padding: 0.5rem 20px; }
.swagger-ui .opblock-description-wrapper p, .swagger-ui .opblock-description p { margin: 0 0 0.25rem; }
.swagger-ui .opblock .opblock-section-header { min-height: 0; padding: 0.3rem 20px; }
.swagger-ui .opblock-section-header .try-out__btn, .swagger-ui .opblock-section-header select { padding-top: 0.2rem; padding-bottom: 0.2rem; }
.swagger-ui .table-container, .swagger-ui .responses-inner { padding: 0.25rem 20px; }
.swagger-ui table thead tr :is(td, th) { padding: 0.25rem 0; }
.swagger-ui .parameters td, .swagger-ui .responses-inner .response > td { padding: 0.3rem 0.5rem 0.3rem 0; }
.swagger-ui .parameters-col_description .markdown p { margin: 0; }
.swagger-ui .json-schema-array { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.75rem; }
.swagger-ui .json-schema-array .json-schema-form-item { display: flex; align-items: center; margin: 0; }
.swagger-ui .json-schema-array input { max-width: 12rem; }
.swagger-ui :is(.parameters-col_description, .response-col_description) { font-size: 0.875rem; }
.swagger-ui .response-col_description__inner p { margin: 0; }
.swagger-ui .response-controls { margin: 0; padding: 0.25rem 0; }
.swagger-ui .response-control-media-type { display: flex; align-items: center; gap: 0.5rem; margin: 0; padding: 0; }
.swagger-ui .parameters-col_description input { margin: 0; padding: 0.3rem 0.6rem; }
.swagger-ui .execute-wrapper { padding: 0.4rem 20px; }
.swagger-ui .tab { margin: 0.25rem 0; padding: 0; }
.swagger-ui .model-example { margin: 0; }
.swagger-ui .highlight-code > .microlight { max-height: 7.5rem; margin: 0; }
.swagger-ui .live-responses-table .highlight-code > .microlight { max-height: 16rem; }
.swagger-ui .body-param textarea { min-height: 0; height: 6.5rem; }
/* Each is short. */
.swagger-ui .parameters-col_description textarea { min-height: 0; height: 4.5em; max-width: 340px; }
a:focus-visible, button:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
`;

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

/** Pages listen for `token`, and find it, if there is one, in `window.recordsToken`. */
export const TOKEN_SCRIPT = `'use strict';
{
  const KEY = 'records-token';
  const byId = (id) => document.getElementById(id);
  const form = byId('access');
  const input = byId('token');
  const say = (text) => { byId('access-said').textContent = text; };
  const withToken = (url, token) =>
    fetch(url, { headers: { Authorization: 'Bearer ' + token } });

  const show = (token) => {
    input.value = '';
    input.placeholder = token === undefined ? '' : 'in use';
    byId('use').textContent = token === undefined ? 'Use' : 'Use another';
    byId('forget').hidden = token === undefined;
    window.recordsToken = token;
    document.dispatchEvent(new Event('token'));
  };

  const pageFor = async (token) => {
    const response = await withToken(form.dataset.page, token);
    if (!response.ok) throw new Error((await response.json().catch(() => ({}))).detail ?? 'status ' + response.status);
    return new DOMParser().parseFromString(await response.text(), 'text/html');
  };

  const take = async (token) => {
    say('Looking …');
    try {
      if (!/^[\\w.~+/-]+=*$/.test(token)) throw new Error('It has characters that no token has.');
      const page = await pageFor(token);
      if (page.querySelector('[data-locked]')) throw new Error('It is not known, or opens nothing.');
      sessionStorage.setItem(KEY, token);
      const main = document.querySelector('main[data-by-token]');
      if (main) main.replaceWith(document.adoptNode(page.querySelector('main')));
      const count = byId('count');
      if (count) count.textContent = page.getElementById('count').textContent;
      say('In use, until this tab is closed.');
      show(token);
    } catch (error) {
      say('This token cannot be used. ' + error.message);
      if (sessionStorage.getItem(KEY) !== token) return;
      sessionStorage.removeItem(KEY);
      show(undefined);
    }
  };

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void take(input.value.trim());
  });
  byId('forget').addEventListener('click', () => {
    sessionStorage.removeItem(KEY);
    location.reload();
  });
  /* A link cannot send a header: what it leads to is fetched, and shown from memory. */
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[data-by-token]');
    const token = window.recordsToken;
    if (!link || token === undefined || event.button !== 0) return;
    event.preventDefault();
    withToken(link.href, token)
      .then((response) => response.blob())
      .then((blob) => location.assign(URL.createObjectURL(blob)))
      .catch((error) => say('It could not be fetched. ' + error.message));
  });

  form.hidden = false;
  const kept = sessionStorage.getItem(KEY);
  if (kept !== null) void take(kept);
  else show(undefined);
}
`;

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
