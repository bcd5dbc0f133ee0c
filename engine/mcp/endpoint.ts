/** `/mcp`: streamable HTTP without sessions. Each request is one message of an agent, checked like other requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Position } from '../edge/caller.ts';
import { serveCall } from '../embed/calls.ts';
import type { Engine } from '../engine.ts';
import { type Answer, isPreflight, rpcError } from '../http/answer.ts';
import { acceptedType, BudgetCaller, HttpClient, requestIdOf } from '../http/request.ts';
import { decode, isObject, type JsonObject } from '../json/json.ts';
import { readObject, type TextLimits } from '../json/tokenizer.ts';
import { JSON_TYPE } from '../operations/table.ts';
import { textOf } from '../operations/body.ts';
import { notOffered } from '../problem.ts';
import { createAgentServer, faultOfParams } from './tools.ts';

const METHODS = 'POST, OPTIONS';

export function createAgentEndpoint(engine: Engine, { title, ...limits }: TextLimits & { readonly title: string }) {
  const { host, budget, readContent } = engine;
  const position: Position = { last: undefined };
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    host.admitAgent(request);
    const { method = '' } = request;
    const options = { status: 204, headers: { Allow: METHODS }, body: undefined };
    // Browsers send preflight requests without a token.
    if (isPreflight(request)) return host.reply(options, request, response);
    const model = engine.clients().of(request).seen();
    if (method === 'OPTIONS') return host.reply(options, request, response);
    if (method !== 'POST') throw notOffered(method, METHODS, ': there are no sessions or streams');
    acceptedType(request.headers.accept, [JSON_TYPE]);
    const caller = new BudgetCaller(budget, position, new HttpClient(response, host.addressOf));
    try {
      const content = await readContent(request, caller, [JSON_TYPE]);
      await caller.turn();
      const text = Buffer.isBuffer(content) ? decode(content) : textOf(content.parsed);
      // The rate limit would count an array as one request.
      const message = readObject(text, { limits, what: 'The message', takesInteger: () => true }).object;
      const requestId = requestIdOf(request, response);
      const server = createAgentServer({
        title,
        model,
        call: (type, name, call) => serveCall(() => engine.clients().of(request), type, name, call, caller),
        refused: (error) => host.problemOf(error, requestId),
        withheld: 'You may not do this.',
      });
      const answer = refusalOf(request, message) ?? (await answered(asWebRequest(request), message, server));
      await host.reply(answer, request, response);
    } finally {
      caller.release();
    }
  };
}

async function answered(
  request: Request,
  message: JsonObject,
  server: ReturnType<typeof createAgentServer>,
): Promise<Answer> {
  const parsed = { parsedBody: message };
  const isLegacy = await isLegacyRequest(request, message);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  if (isLegacy) await server.connect(transport);
  const answer = isLegacy
    ? await transport.handleRequest(request, parsed)
    : await createMcpHandler(() => server, { maxSubscriptions: 0, keepAliveMs: 0 }).fetch(request, parsed);
  if (isLegacy) await server.close();
  const body = await answer.text();
  const type = answer.headers.get('content-type');
  const headers: Record<string, string> = type === null ? {} : { 'Content-Type': type };
  return { status: answer.status, headers, body: body === '' ? undefined : body };
}

const HEADER_MISMATCH = -32_020;

/** Gateways authorize by headers: they must match the message. */
function refusalOf({ headers }: IncomingMessage, parsed: JsonObject): Answer | undefined {
  const { id = null, method, params } = parsed;
  const repeated: Readonly<Record<string, unknown>> = {
    'Mcp-Method': method,
    'Mcp-Name': method === 'tools/call' && isObject(params) ? params['name'] : undefined,
  };
  // Clients encode non-ASCII names.
  const encoded = (value: string): string => `=?base64?${Buffer.from(value).toString('base64')}?=`;
  const wrong = Object.keys(repeated).find((name) => {
    const [header, value] = [headers[name.toLowerCase()], repeated[name]];
    return header !== undefined && (typeof value !== 'string' || (header !== value && header !== encoded(value)));
  });
  const fault = wrong === undefined ? faultOfParams(parsed) : `The header ${wrong} does not agree with the message`;
  if (fault === undefined) return undefined;
  const code = wrong === undefined ? ProtocolErrorCode.InvalidParams : HEADER_MISMATCH;
  const body = rpcError(id, code, fault);
  return { status: 400, headers: { 'Content-Type': JSON_TYPE }, body };
}

/** The request for the SDK, which requires a URL, and an Accept header with both formats. */
function asWebRequest({ headers }: IncomingMessage): Request {
  const given = Object.entries(headers).filter(([name]) => name !== 'content-length' && !name.startsWith(':'));
  const web = new Headers(given.map(([name, value]): [string, string] => [name, String(value)]));
  web.set('accept', `${JSON_TYPE}, text/event-stream`);
  return new Request('http://localhost/mcp', { method: 'POST', headers: web, body: '{}' });
}
