'use strict';
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
  const there = new URL(server.replace(/\/*$/, '/'), here).href;
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
