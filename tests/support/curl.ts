/** A curl command as the request that it sends. An option that is not known here is an error, so that no example lies. */
const DOCUMENTED_URL = 'http://127.0.0.1:3000';

export interface CurlRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Draft {
  method?: string;
  url?: string;
  headers: Record<string, string>;
  data: string[];
  inQuery: boolean;
}

const WITH_VALUE: Readonly<Record<string, (draft: Draft, value: string) => void>> = {
  '-X': (draft, value) => (draft.method = value),
  '-H': (draft, value) => Object.assign(draft.headers, header(value)),
  '-d': (draft, value) => draft.data.push(value),
  '--data-urlencode': (draft, value) => draft.data.push(urlEncoded(value)),
  '--url': (draft, value) => (draft.url = value),
  '--json': (draft, value) => {
    draft.data.push(value);
    draft.headers = { 'content-type': 'application/json', accept: 'application/json', ...draft.headers };
  },
};

const WITHOUT_VALUE: Readonly<Record<string, (draft: Draft) => void>> = {
  '-G': (draft) => (draft.inQuery = true),
  '-I': (draft) => (draft.method = 'HEAD'),
};

const LONG: Readonly<Record<string, string>> = {
  '--request': '-X',
  '--header': '-H',
  '--data': '-d',
  '--data-raw': '-d',
  '--data-binary': '-d',
  '--get': '-G',
  '--head': '-I',
};

/** What curl prints, and that it leaves brackets in URLs alone. */
const IGNORED = new Set('-i --include -s --silent -S -v --verbose -g --globoff -f --fail'.split(' '));

export function parseCurl(words: readonly string[]): CurlRequest {
  const draft: Draft = { headers: {}, data: [], inQuery: false };
  const rest = words.flatMap(splitFlags).values();
  for (const word of rest) {
    const option = LONG[word] ?? word;
    if (WITH_VALUE[option]) WITH_VALUE[option](draft, rest.next().value ?? '');
    else if (WITHOUT_VALUE[option]) WITHOUT_VALUE[option](draft);
    else if (!option.startsWith('-')) draft.url = word;
    else if (!IGNORED.has(option)) throw new SyntaxError(`curl ${word} cannot be replayed`);
  }
  return request(draft);
}

/** `-sgi` as `-s -g -i`. */
const splitFlags = (word: string): readonly string[] =>
  /^-[a-zA-Z]{2,}$/.test(word)
    ? word
        .slice(1)
        .split('')
        .map((letter) => `-${letter}`)
    : [word];

function header(line: string): Record<string, string> {
  const colon = line.indexOf(':');
  return { [line.slice(0, colon).toLowerCase()]: line.slice(colon + 1).trim() };
}

function urlEncoded(value: string): string {
  const equals = value.indexOf('=');
  return `${value.slice(0, equals)}=${encodeURIComponent(value.slice(equals + 1))}`;
}

function request({ method, url = '', headers, data, inQuery }: Draft): CurlRequest {
  if (!url.startsWith(`${DOCUMENTED_URL}/`) && url !== DOCUMENTED_URL) {
    throw new SyntaxError(`curl of ${url}: examples go to ${DOCUMENTED_URL}`);
  }
  const path = url.slice(DOCUMENTED_URL.length) || '/';
  const text = data.join('&');
  const body = data.length === 0 || inQuery ? undefined : text;
  // What curl itself sends where the example names no type.
  const type = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    path: inQuery && text !== '' ? `${path}${path.includes('?') ? '&' : '?'}${text}` : path,
    headers: { ...type, ...headers },
    body,
  };
}
