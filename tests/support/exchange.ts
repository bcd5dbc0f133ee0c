/** One HTTP request as it goes over the wire: nothing is added to its headers but what HTTP itself needs. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface Exchanged {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Parts {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Keeps connections where it is given. */
  readonly agent?: Agent;
  /** Milliseconds after which nobody waits for the answer any more. */
  readonly patience?: number;
}

const ALONE = new Agent({ keepAlive: false });
/** Links to other pages of the longest query are longer than the 16 KB that Node.js takes by default. */
const MAX_HEADERS = 65_536;

/** `exchange(url, 'GET /api/things/1')`. */
export function exchange(
  url: string,
  title: string,
  { headers = {}, body, agent = ALONE, patience }: Parts = {},
): Promise<Exchanged> {
  const [method = 'GET', path = '/'] = title.split(' ', 2);
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = { hostname, port, path, method, headers, agent, maxHeaderSize: MAX_HEADERS };
    const sent = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject);
    // Not the timeout of the request, which begins with its connection.
    if (patience !== undefined) {
      const timer = setTimeout(() => sent.destroy(new Error('no answer in time')), patience);
      sent.on('close', () => clearTimeout(timer));
    }
    sent.end(body);
  });
}

export const exchangeJson = (
  url: string,
  title: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Exchanged> =>
  exchange(
    url,
    title,
    body === undefined
      ? { headers }
      : { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) },
  );
