/** The start page: what runs here, its record types, and how they belong together. */
import type { Model, RecordType } from '../model/model.ts';
import { type Html, html, NOTHING } from './html.ts';
import { layout } from './layout.ts';

export interface Service {
  readonly model: Model;
  readonly title: string;
  readonly version: string;
  /** Whether there is a guide for the authors of clients. */
  readonly hasGuide: boolean;
  /** Whether requests need a token, and pages differ by it. */
  readonly guarded?: boolean;
}

const FIRST_PAGE = '?_cnd[limit]=0&_cnd[limit]=20';

/** `diagram` is the picture of the model as an SVG element; undefined where there is none. */
export function startPage({ model, title, version, hasGuide }: Service, diagram: string | undefined): string {
  const types = [...model.types.values()];
  const served = types.filter(({ operations }) => operations.size > 0);
  const related = types.filter(({ operations }) => operations.size === 0);
  const body = html`<a class="skip" href="#types">Skip to the record types</a>
    <header>
      <p class="version">Version ${version}</p>
      <h1>${title}</h1>
      <p class="quiet">${counted(served.length, 'record type')} to read and write over HTTP, in JSON.</p>
      <nav aria-label="Documentation">
        <ul>
          <li><a class="main" href="docs">Interactive reference</a></li>
          ${hasGuide ? html`<li><a href="docs/clients">Guide for client authors</a></li>` : NOTHING}
          <li><a href="openapi.json">OpenAPI as JSON</a></li>
          <li><a href="openapi.yaml">as YAML</a></li>
        </ul>
      </nav>
    </header>
    <main>
      <h2 id="types">Record types</h2>
      <ul class="types">
        ${served.map(card)}
      </ul>
      ${related.length === 0 ? NOTHING : relatedSection(related)}
      ${diagram === undefined ? NOTHING : diagramSection(diagram)}
    </main>
    <footer>Everything on this page comes from the descriptors that the service was started with.</footer>`;
  return layout({ title, head: html`<link rel="stylesheet" href="docs/style.css" />`, body });
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

function card(type: RecordType): Html {
  const { name, description, path, operations } = type;
  const url = `api/${encodeURIComponent(path)}`;
  const list = operations.has('list')
    ? html`<a href="${url}${FIRST_PAGE}" aria-label="First ${name} records">First records</a>`
    : NOTHING;
  return html`<li>
    <h3>${name}</h3>
    <p class="quiet">${description}</p>
    <p><code>/${url}</code></p>
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
        A fork stands at the side of which there may be many, a bar at the side of one, a circle where there may be
        none. Types with a coloured frame have paths of their own.
      </figcaption>
    </figure>`;
