/* Pages listen for the event "token", and find the token, if there is one, in window.recordsToken. */
'use strict';
{
  const KEY = 'records-token';
  const byId = (id) => document.getElementById(id);
  const form = byId('access');
  const input = byId('token');
  const say = (text) => {
    byId('access-said').textContent = text;
  };
  const withToken = (url, token) => fetch(url, { headers: { Authorization: 'Bearer ' + token } });

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
      if (!/^[\w.~+/-]+=*$/.test(token)) throw new Error('It has characters that no token has.');
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
