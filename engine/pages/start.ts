/** The start page: an example request, the record types with their URLs, and a diagram. */
import { mermaidOf } from '../describe/describe.ts';
import type { Model, RecordType } from '../model/model.ts';
import { creationExample, recordExample } from '../openapi/examples.ts';
import { tokenForm, tokenScript } from './docs.ts';
import { type Html, html, layout, NO_HTML, type ServiceInfo } from './page.ts';

const FIRST_PAGE = '?_cnd[limit]=0&_cnd[limit]=20';

/** `address`: the URL of the service, for an example that can be copied. */
export function startPage(model: Model, about: ServiceInfo, address: string): string {
  const { title, version, hasStudio, guarded, publicUrl } = about;
  const types = [...model.types.values()];
  const served = types.filter(({ operations }) => operations.size > 0);
  const related = types.filter(({ operations }) => operations.size === 0);
  // The client has no valid token.
  const isLocked = guarded && types.length === 0;
  const byToken = guarded ? html` data-by-token` : NO_HTML;
  const body = html`<a class="skip" href="#types">Skip to the record types</a>
    <header>
      <p class="version">Version ${version}</p>
      <h1>${title}</h1>
      <p class="quiet" id="count">
        ${isLocked ? 'Record types' : `${served.length} record type${served.length === 1 ? '' : 's'}`} to read and write over HTTP, in JSON. Each is described by a file: its table, its
        checks and everything on this page follow from that.
      </p>
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
      ${exampleSection(served, address, guarded)}
      <h2 id="types">Record types</h2>
      ${
        isLocked
          ? html`<p class="quiet">Enter a token to see them. The operator of the service gives tokens out.</p>`
          : html`<ul class="types">
              ${served.map((type) => card(type, publicUrl, byToken))}
            </ul>`
      }
      ${related.length === 0 ? NO_HTML : relatedSection(related)}
      ${relationSection(model)}
    </main>
    `;
  return layout({ title, head: html`<link rel="stylesheet" href="docs/style.css" />${tokenScript(guarded)}`, body });
}

function card(type: RecordType, publicUrl: string, byToken: Html): Html {
  const { name, description, path, operations } = type;
  const url = `api/${encodeURIComponent(path)}`;
  const list = operations.has('list')
    ? html`<a href="${url}${FIRST_PAGE}" ${byToken} aria-label="First records of ${name}">First records</a>`
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
  html`<h2>Types inside these records</h2>
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

/** Uses the type with the fewest fields and required relations, for a short body. */
function exampleSection(served: readonly RecordType[], address: string, guarded: boolean): Html {
  const size = ({ fields, relations }: RecordType): number =>
    fields.size + relations.size + 100 * [...relations.values()].filter(({ required }) => required).length;
  const [type] = served
    .filter(({ operations }) => operations.has('create'))
    .toSorted((one, other) => size(one) - size(other));
  if (type === undefined) return NO_HTML;
  const token = guarded ? ` -H 'Authorization: Bearer TOKEN'` : '';
  const url = `${address}/api/${encodeURIComponent(type.path)}`;
  const body = JSON.stringify(creationExample(type)).replaceAll("'", `'\\''`);
  return html`<h2>A request and its response</h2>
    <pre><code>curl ${url}${token} --json '${body}'</code></pre>
    <pre><code>${JSON.stringify(recordExample(type), null, 2)}</code></pre>`;
}

function relationSection(model: Model): Html {
  const rows = [...model.types.values()].flatMap((type) =>
    [...type.relations.values()].map(
      ({ name, toMany, owned, target }) =>
        html`<tr>
          <td>${type.name}</td>
          <td><code>${name}</code>, ${toMany ? 'a set' : 'one'}${owned ? ', owned' : ''}</td>
          <td>${target.name}</td>
        </tr>`,
    ),
  );
  if (rows.length === 0) return NO_HTML;
  return html`<h2>How they belong together</h2>
    <table tabindex="0">
      <thead>
        <tr>
          <th>A record of</th>
          <th>has</th>
          <th>of</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
    <details>
      <summary>As a diagram (Mermaid)</summary>
      <pre><code>${mermaidOf(model)}</code></pre>
    </details>`;
}
