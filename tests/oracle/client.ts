/** An HTTP client with one connection that is kept alive. */
import * as http from 'node:http';

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string | undefined;
}

export interface Client {
  send(request: Sent): Promise<ReceivedAnswer>;
  close(): void;
}

const TIMEOUT = 30_000;

/** Node joins repeated headers with a comma, except for set-cookie. */
const flat = (headers: http.IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

function collect(
  response: http.IncomingMessage,
  done: (answer: ReceivedAnswer) => void,
  failed: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('error', failed);
  response.on('end', () => {
    const headers = flat(response.headers);
    done({ status: response.statusCode ?? 0, headers, text: Buffer.concat(chunks).toString('utf8') });
  });
}

export function createClient(url: string): Client {
  const base = new URL(url);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const send = ({ method, path, headers, text }: Sent): Promise<ReceivedAnswer> =>
    new Promise((resolve, reject) => {
      const length = text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) };
      const place = { host: base.hostname, port: base.port, path };
      const sent = { ...place, agent, method, headers: { ...length, ...headers }, timeout: TIMEOUT };
      const request = http.request(sent, (response) => collect(response, resolve, reject));
      request.on('timeout', () => request.destroy(new Error('no answer in time')));
      request.on('error', reject);
      request.end(text);
    });
  return { send, close: () => agent.destroy() };
}
