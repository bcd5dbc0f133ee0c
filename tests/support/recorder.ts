/** Stands in front of a service, hands every request on, and keeps what was asked and answered. */
import { once } from 'node:events';
import { type ClientRequest, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

export interface Recorder {
  readonly url: string;
  close(): Promise<void>;
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const DECODERS: ReadonlyMap<string | undefined, (bytes: Buffer) => Buffer> = new Map([
  ['gzip', gunzipSync],
  ['br', brotliDecompressSync],
]);

const decoded = (body: Buffer, coding: string | undefined): string =>
  String(body.length === 0 ? body : (DECODERS.get(coding)?.(body) ?? body));

const flat = (headers: IncomingHttpHeaders): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value?.toString()]));

/** undefined where the connection ends without one. */
const answerTo = (sent: ClientRequest): Promise<IncomingMessage | undefined> =>
  new Promise((resolve) => void sent.once('response', resolve).on('error', () => resolve(undefined)));

export async function startRecorder(target: string, onAnswer: (recorded: Recorded) => void): Promise<Recorder> {
  const { hostname, port } = new URL(target);
  const server = createServer(async (asked, response) => {
    const { method = '', url: path = '', headers } = asked;
    const content = await bytesOf(asked);
    const sent = request({ hostname, port, method, path, headers });
    sent.end(content);
    const answer = await answerTo(sent);
    // What the service hangs up on is hung up on here.
    if (answer === undefined) return void response.destroy();
    const body = await bytesOf(answer);
    const status = answer.statusCode ?? 0;
    const text = decoded(body, answer.headers['content-encoding']);
    onAnswer({ method, path, status, headers: flat(answer.headers), text });
    response.writeHead(status, answer.headers).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
