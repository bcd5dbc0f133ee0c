/**
 * Requests that two readers could understand in two ways: a proxy in front may end them elsewhere, take them for another
 * host's, or use the other of two headers (RFC 9112, 11.2). Node's parser refuses most of them, but not these.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import type { HostSteps } from '../http/handler.ts';
import { absoluteForm, originForm } from '../http/request.ts';
import { Problem } from '../problem.ts';

/** Headers that decide something here, and that a request must not repeat (RFC 9110, 5.3). */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'expect',
  'origin',
  'content-type',
  'authorization',
  'content-length',
  'idempotency-key',
  'transfer-encoding',
]);
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%!$&'()*+;=-]*)(?::\d*)?$/i;

/** The ambiguity of the request, if there is one. */
export function framingFault(request: IncomingMessage): string | undefined {
  const { headers, httpVersionMinor, url = '' } = request;
  return (
    repeatedHeader(request.rawHeaders) ??
    (headers['transfer-encoding'] === undefined ? undefined : codingFault(headers, httpVersionMinor)) ??
    hostFault(headers.host, httpVersionMinor) ??
    targetFault(url, request)
  );
}

/** `lines` are names and values in turn. */
function repeatedHeader(lines: readonly string[]): string | undefined {
  const seen: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = (lines[at] ?? '').toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.includes(name)) return `The request has more than one ${lines[at]}`;
    seen.push(name);
  }
  return undefined;
}

function codingFault(headers: IncomingMessage['headers'], minor: number): string | undefined {
  if (minor === 0) return 'HTTP/1.0 has no Transfer-Encoding; send Content-Length';
  if (headers['content-length'] !== undefined) return 'The request has both Transfer-Encoding and Content-Length';
  if (headers['transfer-encoding']?.toLowerCase() !== 'chunked')
    return 'Transfer-Encoding has to be chunked, and nothing else';
  return undefined;
}

/** Clients repeat themselves. */
let lastHost: string | undefined;

function hostFault(host: string | undefined, minor: number): string | undefined {
  if (host === undefined) return minor === 0 ? undefined : 'HTTP/1.1 requires the header Host';
  if (host === lastHost) return undefined;
  if (!HOST.test(host)) return 'Host has to be a name or an address, with an optional port';
  lastHost = host;
  return undefined;
}

function targetFault(url: string, { method, headers }: IncomingMessage): string | undefined {
  if (url.includes('#')) return 'The URL has a fragment, which is for the client alone';
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return undefined;
  const absolute = absoluteForm(url);
  if (absolute === undefined) return 'The URL has to begin with a slash';
  if (headers.host === undefined || sameHost(absolute, headers.host)) return undefined;
  return 'The URL names another host than the header Host';
}

/** A port that the scheme implies may be left out. */
function sameHost({ scheme, authority }: { scheme: string; authority: string }, host: string): boolean {
  const implied = scheme === 'https' ? ':443' : ':80';
  const plain = (name: string): string => {
    const lower = name.toLowerCase();
    return lower.endsWith(implied) ? lower.slice(0, -implied.length) : lower;
  };
  return plain(authority) === plain(host);
}

/**
 * Refuses such requests and closes their connections: bytes behind one may be what another reader takes for its body, or
 * the other way round.
 */
export function refuseUnclear({ watch, refuse }: HostSteps, serve: RequestListener): RequestListener {
  return (request, response) => {
    const fault = framingFault(request);
    request.url = originForm(request.url ?? '/');
    if (fault === undefined && request.headers.upgrade === undefined) return serve(request, response);
    // Node's parser drops what comes in one piece with a request for an upgrade, and would go on in the middle of it.
    response.shouldKeepAlive = false;
    if (fault === undefined) return serve(request, response);
    watch(request, response);
    refuse(new Problem('bad-request', fault), request, response);
  };
}
