/**
 * The one place of the pages where people enter a token. A script keeps it for as long as the tab is open, and sends it in
 * a header, as every other client does: it is in no URL, no cookie, and nothing that other tabs or later visitors see.
 */
import { type Html, html, NOTHING } from './html.ts';

export const tokenForm = (guarded: boolean): Html =>
  guarded
    ? html`<form class="access" id="access" hidden>
          <label for="token">Token</label>
          <input id="token" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" required />
          <button id="use">Use</button>
          <button id="forget" type="button" hidden>Forget</button>
          <p id="access-said" role="status"></p>
        </form>
        <noscript><p class="quiet">To enter a token here, a browser needs JavaScript.</p></noscript>`
    : NOTHING;

export const tokenScript = (guarded: boolean): Html =>
  guarded ? html`<script src="docs/token.js" defer></script>` : NOTHING;

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

  const startPage = async (token) => {
    const response = await withToken('.', token);
    if (!response.ok) throw new Error((await response.json().catch(() => ({}))).detail ?? 'status ' + response.status);
    return new DOMParser().parseFromString(await response.text(), 'text/html');
  };

  const take = async (token) => {
    say('Looking …');
    try {
      if (!/^[\\w.~+/-]+=*$/.test(token)) throw new Error('It has characters that no token has.');
      const page = await startPage(token);
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
