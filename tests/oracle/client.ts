/** An HTTP client with one connection that is kept alive; of HEAD it also reads what follows the headers. */
import * as http from 'node:http';
import * as https from 'node:https';
import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

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
  /** Sends these bytes on a new connection, and reads until it ends. */
  sendRaw(bytes: string): Promise<ReceivedAnswer>;
  close(): void;
}

const TIMEOUT = 30_000;

/** Node joins repeated headers with a comma, except for set-cookie. */
const flat = (headers: http.IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

const DECODERS: ReadonlyMap<string | undefined, (bytes: Buffer) => Buffer> = new Map([
  ['gzip', gunzipSync],
  ['br', brotliDecompressSync],
]);

/** The body without its compression. */
function decoded(bytes: Buffer, headers: ReceivedAnswer['headers']): string {
  const decode = bytes.length === 0 ? undefined : DECODERS.get(headers['content-encoding']);
  return (decode === undefined ? bytes : decode(bytes)).toString('utf8');
}

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
    done({ status: response.statusCode ?? 0, headers, text: decoded(Buffer.concat(chunks), headers) });
  });
}

/** Node's client drops what follows the headers of a HEAD answer, so this reads from the socket. */
function sendHead(base: URL, { path, headers }: Sent): Promise<ReceivedAnswer> {
  const lines = Object.entries({ host: base.host, connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return overSocket(base, `HEAD ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
}

function overSocket(base: URL, bytes: string): Promise<ReceivedAnswer> {
  const secure = base.protocol === 'https:';
  const port = Number(base.port) || (secure ? 443 : 80);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const place = { host: base.hostname.replaceAll(/[[\]]/g, ''), port };
    const socket = secure ? connectSecurely(place) : connect(place);
    socket.setTimeout(TIMEOUT, () => socket.destroy(new Error('no answer in time')));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => resolve(parseHead(Buffer.concat(chunks).toString('utf8'))));
    socket.write(bytes);
  });
}

function parseHead(received: string): ReceivedAnswer {
  const end = received.indexOf('\r\n\r\n');
  const [first = '', ...lines] = received.slice(0, end < 0 ? undefined : end).split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(headers),
    text: end < 0 ? '' : received.slice(end + 4),
  };
}

/** The addresses in an answer of a service that is mounted below a path begin with that path. */
function belowPrefix(answer: ReceivedAnswer, prefix: string): ReceivedAnswer {
  if (prefix === '') return answer;
  const { location, link } = answer.headers;
  const headers = {
    ...answer.headers,
    ...(location?.startsWith(prefix) ? { location: location.slice(prefix.length) } : {}),
    ...(link === undefined ? {} : { link: link.replaceAll(`<${prefix}`, '<') }),
  };
  return { ...answer, headers };
}

export function createClient(url: string): Client {
  const base = new URL(url);
  const transport = base.protocol === 'https:' ? https : http;
  const agent = new transport.Agent({ keepAlive: true, maxSockets: 1 });
  const prefix = base.pathname.replace(/\/$/, '');
  const send = ({ method, path, headers, text }: Sent): Promise<ReceivedAnswer> =>
    new Promise((resolve, reject) => {
      const isWhole = text !== undefined && headers['transfer-encoding'] === undefined;
      const length = isWhole ? { 'content-length': String(Buffer.byteLength(text)) } : {};
      const options = {
        agent,
        method,
        host: base.hostname.replaceAll(/[[\]]/g, ''),
        port: base.port,
        path: prefix + path,
        headers: { ...length, ...headers },
        timeout: TIMEOUT,
      };
      const request = transport.request(options, (response) => collect(response, resolve, reject));
      request.on('timeout', () => request.destroy(new Error('no answer in time')));
      request.on('error', reject);
      request.end(text);
    });
  return {
    send: async (request) => {
      const answer =
        request.method === 'HEAD' ? sendHead(base, { ...request, path: prefix + request.path }) : send(request);
      return belowPrefix(await answer, prefix);
    },
    sendRaw: (bytes) => overSocket(base, bytes),
    close: () => agent.destroy(),
  };
}
