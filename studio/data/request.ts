/** Requests of the public interface, as any other client sends them. */
import { parseJson, type Value, writeJson } from './json.ts';
import { Problem, problemFrom } from './problem.ts';
import { keptToken } from './token.ts';

/** The page says where the service is from its own address, whatever prefix that is under. */
export const ROOT = new URL(document.getElementById('studio')?.dataset['root'] ?? '.', location.href);
export const API = new URL('api/', ROOT);

export interface Sent {
  readonly method: 'GET' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the interface, with its query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Value;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Value;
}

export async function send({ method, target, headers = {}, body }: Sent, signal?: AbortSignal): Promise<Answer> {
  const response = await fetchFrom(new URL(target, API), {
    method,
    headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: writeJson(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : parseJson(text) };
}

/** The response itself: for what is not JSON, or is read piece by piece. */
export const openResponse = (
  { method, target, headers = {} }: Omit<Sent, 'body'>,
  signal?: AbortSignal,
  body?: string,
): Promise<Response> =>
  fetchFrom(new URL(target, API), {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  });

/** The text of the document that says what there is. */
export const fetchModel = async (token = keptToken()): Promise<string> =>
  (await fetchFrom(new URL('studio/model.json', ROOT), {}, token)).text();

async function fetchFrom(url: URL, options: RequestInit, token = keptToken()): Promise<Response> {
  const headers = new Headers(options.headers);
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
  const response = await fetch(url, { ...options, headers, cache: 'no-cache' }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    // A write may have been done although nobody heard of it.
    const code = (options.method ?? 'GET') === 'GET' ? 'unreachable' : 'unanswered';
    throw new Problem({ status: 0, code, message: '', errors: [] });
  });
  if (!response.ok) throw await problemFrom(response);
  return response;
}
