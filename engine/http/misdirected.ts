/**
 * Requests for another host. Without tokens, a page of any site could let its own name lead to this machine (DNS
 * rebinding), and read and write as if it were a page of the service. And requests for two at once: whoever stands in
 * front may go by the other line (RFC 9112, 3.2).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import { Problem } from '../problem.ts';
import { problemAnswer } from './problem-answer.ts';
import { fullPath, targetOf } from './target.ts';

/** Whether the request was answered, since it is for somebody else, or says twice for whom. */
export type RefuseMisdirected = (request: IncomingMessage, response: ServerResponse) => boolean;

/** An address, or this machine: no name server decides where these lead. */
const FIXED = /^(?:\[[^\]]+\]|\d{1,3}(?:\.\d{1,3}){3}|(?:.+\.)?localhost)$/;
const MAX_SHOWN = 100;

/** `*` among the names is every one. */
export function createMisdirected(names: readonly string[], log: Log): RefuseMisdirected {
  const refuseOthers = names.includes('*') ? () => false : createRefuseOthers(names, log);
  return (request, response) => {
    if (!namesTwoHosts(request.rawHeaders)) return refuseOthers(request, response);
    response.shouldKeepAlive = false;
    return refuse(request, response, new Problem('bad-request', 'The request has more than one Host'), log);
  };
}

/** Names and values in turn. Few names are as long: nothing else is looked at twice. */
function namesTwoHosts(lines: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

function createRefuseOthers(names: readonly string[], log: Log): RefuseMisdirected {
  const known = new Set(names.map((name) => name.toLowerCase()));
  /** Clients repeat themselves. */
  let last: string | undefined;
  return (request, response) => {
    const { host } = request.headers;
    // Browsers always say whom they mean.
    if (host === undefined || host === last) return false;
    const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    if (!FIXED.test(name) && !known.has(name)) return refuse(request, response, misdirected(name), log);
    last = host;
    return false;
  };
}

const misdirected = (name: string): Problem =>
  new Problem(
    'misdirected-request',
    `This service is not called "${name.slice(0, MAX_SHOWN)}"; the setting ALLOWED_HOSTS can say that it is`,
  );

function refuse(request: IncomingMessage, response: ServerResponse, problem: Problem, log: Log): true {
  const { status, headers, body } = problemAnswer(problem, fullPath(targetOf(request)), '', log);
  const text = String(body);
  response.writeHead(status, {
    ...headers,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(request.method === 'HEAD' ? undefined : text);
  return true;
}
