/** The start page: what runs here, its record types, and how they belong together. */
import type { Model, RecordType } from '../model/model.ts';
import { type Html, html, layout, NO_HTML } from './layout.ts';
import { tokenForm, tokenScript } from './docs.ts';

/** What the pages say of the service. */
export interface ServiceInfo {
  readonly title: string;
  readonly version: string;
  /** Where clients reach the service; the empty string if nobody said so. */
  readonly publicUrl: string;
  /** Whether there is a studio, in which people browse and edit records. */
  readonly hasStudio: boolean;
  /** Whether requests need a token, and pages differ by it. */
  readonly guarded: boolean;
}

const FIRST_PAGE = '?_cnd[limit]=0&_cnd[limit]=20';

/** `diagram` is the picture of the model as an SVG element; undefined if there is none. */
export function startPage(
  { types: all }: Model,
  { title, version, hasStudio, guarded, publicUrl }: ServiceInfo,
  diagram: string | undefined,
): string {
  const types = [...all.values()];
  const served = types.filter(({ operations }) => operations.size > 0);
  const related = types.filter(({ operations }) => operations.size === 0);
  // Without a known token, no type is shown.
  const isLocked = guarded && types.length === 0;
  const byToken = guarded ? html` data-by-token` : NO_HTML;
  const body = html`<a class="skip" href="#types">Skip to the record types</a>
    <header>
      <p class="version">Version ${version}</p>
      <h1>${title}</h1>
      <p class="quiet" id="count">${countOf(served, isLocked)} to read and write over HTTP, in JSON.</p>
      <nav aria-label="Documentation">
        <ul>
          ${hasStudio ? html`<li><a class="main" href="studio">Browse and edit records</a></li>` : NO_HTML}
          <li><a${hasStudio ? NO_HTML : html` class="main"`} href="docs">Interactive reference</a></li>
          <li><a href="docs/clients">Guide for client authors</a></li>
          <li><a href="openapi.json"${byToken}>OpenAPI as JSON</a></li>
          <li><a href="openapi.yaml"${byToken}>as YAML</a></li>
        </ul>
      </nav>
      ${tokenForm(guarded)}
    </header>
    <main${byToken}${isLocked ? html` data-locked` : NO_HTML}>
      <h2 id="types">Record types</h2>
      ${
        isLocked
          ? html`<p class="quiet">Enter a token to see them. The operator of the service gives tokens out.</p>`
          : html`<ul class="types">
              ${served.map((type) => card(type, publicUrl, byToken))}
            </ul>`
      }
      ${related.length === 0 ? NO_HTML : relatedSection(related)}
      ${diagram === undefined || isLocked ? NO_HTML : diagramSection(diagram)}
    </main>
    <footer>Everything on this page comes from the descriptors of the service.</footer>`;
  return layout({ title, head: html`<link rel="stylesheet" href="docs/style.css" />${tokenScript(guarded)}`, body });
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const countOf = (served: readonly RecordType[], isLocked: boolean): string =>
  isLocked ? 'Record types' : counted(served.length, 'record type');

function card(type: RecordType, publicUrl: string, byToken: Html): Html {
  const { name, description, path, operations } = type;
  const url = `api/${encodeURIComponent(path)}`;
  const list = operations.has('list')
    ? html`<a href="${url}${FIRST_PAGE}" ${byToken} aria-label="First ${name} records">First records</a>`
    : NO_HTML;
  return html`<li>
    <h3>${name}</h3>
    <p class="quiet">${description}</p>
    <p><code>${publicUrl}/${url}</code></p>
    <p class="links">
      ${list}<a href="docs#/${encodeURIComponent(name)}" aria-label="Reference of ${name}">Reference</a>
    </p>
  </li>`;
}

const relatedSection = (types: readonly RecordType[]): Html =>
  html`<h2>Inside of these</h2>
    <p class="quiet">Read and written through the records above.</p>
    <dl class="related">
      ${types.map(
        ({ name, description }) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${description}</dd>
          </div>`,
      )}
    </dl>`;

const diagramSection = (diagram: string): Html =>
  html`<h2>How they belong together</h2>
    <figure>
      <div class="diagram" tabindex="0" role="region" aria-label="Diagram of the model; scrolls sideways">
        ${{ html: diagram }}
      </div>
      <figcaption>
        A fork marks the side that may have many records, a bar the side with one, and a circle the side that may have
        none. Types with a coloured frame have paths of their own.
      </figcaption>
    </figure>`;
