/** An HTTP client with one connection that is kept alive. */
import { Agent } from 'node:http';
import { exchange } from '../support/exchange.ts';

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string | undefined;
}

export interface Client {
  send(request: Sent): Promise<ReceivedAnswer>;
  close(): void;
}

export function createClient(url: string, onSend: () => void = () => undefined): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send: Client['send'] = async ({ method, path, headers, text }) => {
    onSend();
    const length = text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    const sent = { headers: { ...length, ...headers }, agent, ...(text === undefined ? {} : { body: text }) };
    const { status, headers: received, text: answer } = await exchange(url, `${method} ${path}`, sent);
    const flat = Object.entries(received).map(([name, value]) => [name, String(value)]);
    return { status, headers: Object.fromEntries(flat), text: answer };
  };
  return { send, close: () => agent.destroy() };
}
