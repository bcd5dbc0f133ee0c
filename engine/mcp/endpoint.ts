/**
 * `/mcp`: streamable HTTP without sessions. Each request is one message of an agent. It passes what requests for records
 * pass: the rate limit, the token, the limits of bodies, the budget, and problems as answers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { type CallName, type CallResult, type Position, serveCall } from '../embed/call.ts';
import type { Engine } from '../engine.ts';
import type { Answer } from '../http/answer.ts';
import { acceptedType, bodyTypesOf } from '../http/negotiation.ts';
import { HttpCaller } from '../http/request.ts';
import { requestIdOf } from '../http/headers.ts';
import { isObject, type JsonObject } from '../json/json.ts';
import { decode, readObject, type TextLimits } from '../json/tokenizer.ts';
import { MAX_ECHO } from '../names.ts';
import { textOf } from '../operations/body.ts';
import { JSON_TYPE, OPERATIONS } from '../operations/table.ts';
import { Problem } from '../problem.ts';
import { type AgentService, createAgentServer } from './agent-server.ts';
import type { AgentRights } from './tools.ts';

interface EndpointOptions extends TextLimits {
  readonly title: string;
  readonly urlLimit: number;
}

type ServeAgent = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Memory for each character of a message or an answer: the SDK copies the message around it, with its escapes, several times. */
const WRAP_COST = 12;

export function createAgentEndpoint(engine: Engine, options: EndpointOptions): ServeAgent {
  const { host } = engine;
  const position: Position = { last: undefined };
  return async (request, response) => {
    host.admitAgent(request);
    if (request.method === 'OPTIONS') return host.reply(OPTIONS_ANSWER, request, response);
    if (request.method !== 'POST') throw notAllowed(request.method);
    acceptedType(request.headers.accept, [JSON_TYPE]);
    const model = engine.clientOf(request).seen();
    const caller = new AgentCaller(request, response, engine, position);
    try {
      const message = await messageIn(request, caller, engine, options);
      const mismatch = mismatchIn(request, message);
      if (mismatch !== undefined) return await host.reply(mismatch, request, response);
      const rights: AgentRights = {
        model,
        call: async (type, name, call) => {
          const limited = { ...call, parameterLimit: options.urlLimit };
          const result = await serveCall(() => engine.clientOf(request), type, name, limited, caller);
          caller.take(WRAP_COST * lengthOf(result));
          return result;
        },
      };
      const requestId = requestIdOf(request, response);
      const service: AgentService = {
        title: options.title,
        refused: (error) => host.problemFor(error, requestId),
      };
      const answer = await answered(asWebRequest(request), message, rights, service);
      await host.reply(await answerOf(answer), request, response);
    } finally {
      caller.release();
    }
  };
}

function lengthOf(result: CallResult<CallName>): number {
  if ('rows' in result) return result.rows.reduce((sum, row) => sum + row.length, 0);
  return (result.json ?? '').length;
}

const METHODS = 'POST, OPTIONS';
const OPTIONS_ANSWER = { status: 204, headers: { Allow: METHODS }, body: undefined };

const notAllowed = (method = ''): Problem =>
  new Problem('method-not-allowed', `${method} is not offered here; ${METHODS} are: there are no sessions or streams`, {
    headers: { Allow: METHODS },
  });

/** Writes of agents are seen by their later reads, of replicas too: agents do not send the position themselves. */
class AgentCaller extends HttpCaller {
  readonly #position: Position;

  constructor(request: IncomingMessage, response: ServerResponse, { budget, host }: Engine, position: Position) {
    super(request, response, budget, host.addressOf);
    this.#position = position;
  }

  override get position(): string | undefined {
    return this.#position.last;
  }

  override wrote(position: string): void {
    this.#position.last = position;
  }
}

/** An array would be many requests that count as one. */
async function messageIn(
  request: IncomingMessage,
  caller: HttpCaller,
  { readContent }: Engine,
  limits: TextLimits,
): Promise<JsonObject> {
  const content = await readContent(request, caller, bodyTypesOf(OPERATIONS.update));
  const text = Buffer.isBuffer(content) ? decode(content) : textOf(content.parsed);
  // Its identifier comes back in the answer, however long it is.
  caller.take(WRAP_COST * text.length);
  // Strings are checked where they are written.
  return readObject(text, limits, 'The message').object;
}

/** By a server of its own: what it serves depends on the token. Nothing can be subscribed to, so no stream stays open. */
async function answered(
  request: Request,
  message: JsonObject,
  rights: AgentRights,
  service: AgentService,
): Promise<Response> {
  const server = createAgentServer(rights, service);
  const parsed = { parsedBody: message };
  if (!(await isLegacyRequest(request, message)))
    return createMcpHandler(() => server, { maxSubscriptions: 0, keepAliveMs: 0 }).fetch(request, parsed);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  const answer = await transport.handleRequest(request, parsed);
  await server.close();
  return answer;
}

/** The parameter that `Mcp-Name` repeats, by method. */
const NAMED_BY: ReadonlyMap<unknown, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** As a header can have it: names that are not ASCII are encoded. */
const spellingsOf = (value: unknown): readonly unknown[] => [
  value,
  ...(typeof value === 'string' ? [`=?base64?${Buffer.from(value).toString('base64')}?=`] : []),
];

/** Gateways authorize by these headers, and the body is what is done: both must say the same. */
function mismatchIn({ headers }: IncomingMessage, { id = null, method, params }: JsonObject): Answer | undefined {
  const key = NAMED_BY.get(method);
  const name = key !== undefined && isObject(params) ? params[key] : undefined;
  const said = [
    ['Mcp-Method', headers['mcp-method'], method],
    ['Mcp-Name', headers['mcp-name'], name],
  ] as const;
  const wrong = said.find(([, header, value]) => header !== undefined && !spellingsOf(value).includes(header));
  if (wrong === undefined) return undefined;
  const message = `The header ${wrong[0]} does not agree with the message`;
  const body = JSON.stringify({ jsonrpc: '2.0', id, error: { code: HEADER_MISMATCH, message } });
  return { status: 400, headers: { 'Content-Type': JSON_TYPE }, body };
}

const HEADER_MISMATCH = -32_020;

/** Headers that the SDK gets in another form. */
const OWN: ReadonlySet<string> = new Set(['content-length', 'accept', 'mcp-protocol-version']);

function asWebRequest({ headers }: IncomingMessage): Request {
  const lines = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    OWN.has(name) || name.startsWith(':') ? [] : [[name, String(value)]],
  );
  // The SDK repeats it.
  const version = headers['mcp-protocol-version'];
  if (version !== undefined) lines.push(['mcp-protocol-version', String(version).slice(0, MAX_ECHO)]);
  // The SDK asks for both, whichever it answers with.
  lines.push(['accept', `${JSON_TYPE}, text/event-stream`]);
  // The SDK needs an address; what it serves does not depend on it.
  return new Request('http://localhost/mcp', { method: 'POST', headers: lines, body: '{}' });
}

async function answerOf(answer: Response): Promise<Answer> {
  const message = await answer.text();
  const type = answer.headers.get('content-type');
  const headers: Record<string, string> = type === null ? {} : { 'Content-Type': type };
  return { status: answer.status, headers, body: message === '' ? undefined : message };
}
