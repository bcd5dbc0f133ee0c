/** An agent as tests write it: JSON-RPC over HTTP, one message for each request. */
import type { JsonObject } from '../../engine/json/json.ts';
import { type Exchanged, exchange } from '../support/exchange.ts';

interface Asking {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

interface ListedTool {
  readonly name: string;
  readonly annotations: JsonObject;
  readonly inputSchema: { readonly properties: Readonly<Record<string, { readonly type?: unknown }>> };
}

interface Message {
  readonly result?: {
    readonly tools?: readonly ListedTool[];
    readonly content?: readonly { readonly text: string }[];
    readonly isError?: boolean;
    readonly instructions?: string;
  };
  readonly error?: { readonly code: number; readonly message: string };
}

interface ToolOutcome {
  readonly isError: boolean;
  readonly says: JsonObject;
  readonly text: string;
}

const AGENT_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

export function tell(url: string, message: unknown, { token, headers = {} }: Asking = {}): Promise<Exchanged> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const all = Object.entries({ ...AGENT_HEADERS, ...authorization, ...headers });
  const sent = Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  return exchange(url, 'POST /mcp', { headers: sent, body });
}

export const messageOf = ({ text }: Exchanged): Message => JSON.parse(text) as Message;

export async function toolsOf(url: string, asking?: Asking): Promise<readonly ListedTool[]> {
  return messageOf(await tell(url, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, asking)).result?.tools ?? [];
}

export const toolCall = (name: string, given: object): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: given },
});

export async function useTool(url: string, name: string, given: object = {}, asking?: Asking): Promise<ToolOutcome> {
  const { result } = messageOf(await tell(url, toolCall(name, given), asking));
  const text = result?.content?.[0]?.text ?? '';
  return { isError: result?.isError === true, says: JSON.parse(text) as JsonObject, text };
}
