/** One HTTP request, written as its title: `ask(url, 'GET /api/things/1')`. */
import { Agent } from 'node:http';
import request from 'supertest';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** On a busy machine, a connection that is kept may be closed by the service just as the next request is sent. */
const ALONE = new Agent({ keepAlive: false });

export async function ask(
  url: string,
  title: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = title.split(' ', 2);
  const client = request(url);
  const sent = client[METHODS[method] ?? 'get'](path)
    .agent(ALONE)
    .redirects(0)
    .buffer(true)
    .parse((response, done) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('end', () => done(null, text));
    })
    .set({ ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers });
  const response = await (body === undefined ? sent : sent.send(JSON.stringify(body)));
  // Without a body, as for HEAD, nothing is parsed.
  const text = typeof response.body === 'string' ? response.body : '';
  return {
    status: response.status,
    headers: headersOf(response.headers),
    body: text === '' ? undefined : JSON.parse(text),
  };
}

const METHODS: Readonly<Record<string, 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head' | 'options'>> = {
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
  HEAD: 'head',
  OPTIONS: 'options',
};

const headersOf = (headers: Readonly<Record<string, string | readonly string[]>>): Headers =>
  new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
