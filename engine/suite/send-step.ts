/** One request of a case as it goes over the wire: variables filled in, the sender's token, patience with a rate limit. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bindings, fill, fillHeaders, fillPath } from './bindings.ts';
import type { Request, Sender, Step } from './case.ts';
import type { Answer, Client } from './client.ts';
import { writeJson } from './json-tree.ts';

export interface Tokens {
  /** Of whoever sends what nobody in particular sends. */
  readonly token?: string;
  /** May read everything and write nothing. */
  readonly readToken?: string;
}

export interface SentStep {
  readonly answer: Answer;
  /** As a report shows it. */
  readonly request: string;
}

const MAX_TEXT = 2_000;

function textOf({ text, body, padTo = 0 }: Request, bindings: Bindings): string | undefined {
  const plain = text ?? (body === undefined ? undefined : writeJson(fill(body, bindings)));
  return plain && plain + ' '.repeat(Math.max(0, padTo - Buffer.byteLength(plain)));
}

const TOKEN_OF: Readonly<Record<Sender, (tokens: Tokens) => string | undefined>> = {
  nobody: () => undefined,
  stranger: () => 'rec_which-nobody-gave-out',
  reader: ({ readToken }) => readToken,
};

function authorization({ as }: Request, tokens: Tokens): Readonly<Record<string, string>> {
  const token = as === undefined ? tokens.token : TOKEN_OF[as](tokens);
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** A budget is there again after a minute; who is refused more often than this is refused for another reason. */
const MAX_WAITS = 5;

/** A budget of requests that is used up says nothing of this one, unless this is what the step is about. */
async function patiently(send: () => Promise<Answer>, { expect }: Step): Promise<Answer> {
  for (let waits = 0; ; waits += 1) {
    const answer = await send();
    const seconds = answer.status === 429 && expect.status !== 429 ? Number(answer.headers['retry-after']) : NaN;
    if (!(seconds > 0) || waits === MAX_WAITS) return answer;
    await sleep(seconds * 1000);
  }
}

export async function sendStep(client: Client, tokens: Tokens, step: Step, bindings: Bindings): Promise<SentStep> {
  const { method, path, headers = {}, raw } = step.request;
  if (raw !== undefined) return { request: raw.slice(0, MAX_TEXT), answer: await client.sendRaw(raw) };
  const text = textOf(step.request, bindings);
  const sent = {
    method,
    path: fillPath(path, bindings),
    headers: {
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...authorization(step.request, tokens),
      ...fillHeaders(headers, bindings),
    },
    text,
  };
  const shown = text === undefined ? '' : ` ${text.slice(0, MAX_TEXT).trimEnd()}`;
  return { request: `${method} ${sent.path}${shown}`, answer: await patiently(() => client.send(sent), step) };
}
