/** The URL of a request, taken apart once. */
import type { IncomingMessage } from 'node:http';

export interface Target {
  /** What a host application has stripped from the URL: the path under which the handler is mounted. */
  readonly base: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

export function targetOf(request: IncomingMessage): Target {
  const url = originForm(request.url ?? '/');
  const mark = url.indexOf('?');
  const base = 'baseUrl' in request && typeof request.baseUrl === 'string' ? request.baseUrl : '';
  if (mark === -1) return { base, path: url, query: '' };
  return { base, path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** `GET http://host/path` is as good as `GET /path` (RFC 9112, 3.2.2). */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = absoluteForm(url)?.rest ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

interface AbsoluteForm {
  readonly scheme: string;
  readonly authority: string;
  /** Path and query. */
  readonly rest: string;
}

const ABSOLUTE = /^(?<scheme>https?):\/\/(?<authority>[^/?]+)(?<rest>.*)$/i;

/** undefined where the URL is none of this kind. */
export function absoluteForm(url: string): AbsoluteForm | undefined {
  const { scheme, authority, rest } = ABSOLUTE.exec(url)?.groups ?? {};
  if (scheme === undefined || authority === undefined || rest === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), authority, rest };
}

/** The path as the client sees it. */
export const fullPath = ({ base, path }: Target): string => base + path;
