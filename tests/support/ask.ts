/** One HTTP request, written as its title: `ask(url, 'GET /api/things/1')`. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body, or undefined where there is none. */
  readonly body: unknown;
}

export async function ask(
  url: string,
  request: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = request.split(' ', 2);
  const sent =
    body === undefined
      ? { headers }
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } };
  const response = await fetch(url + path, { method, ...sent });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}
