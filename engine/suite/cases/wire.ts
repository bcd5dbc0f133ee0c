/** What is no HTTP request at all, never becomes one, or is none for this service: answered in words, and the connection closed. */
import { collectionPath } from '../addresses.ts';
import type { Case, ExpectedProblem } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { step } from '../scenario.ts';

const GROUP = 'wire';

const closed = { 'cache-control': 'no-cache', connection: 'close' } as const;

function raw(context: Context, title: string, bytes: string, status: number, code: ExpectedProblem['code']): Case[] {
  const path = collectionPath(context.type);
  const problem = { ...(code === undefined ? {} : { code }), unaddressed: true } as const;
  return caseOf(context, GROUP, `POST ${path} ${title}`, (scenario) =>
    step(scenario, { method: 'POST', path, raw: bytes }, { status, headers: closed, problem }),
  );
}

const filled = (head: string, bytes: number): string => `${head}X-Filler: ${'a'.repeat(bytes)}\r\n\r\n`;

const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n';

/** Nobody waits longer than this for a case, in milliseconds. */
const PATIENCE = 5_000;

export function wire(context: Context): readonly Case[] {
  const { direct, headerLimit, requestTimeout = Infinity, refusesHosts } = context.deployment;
  if (!direct) return [];
  const head = `POST ${collectionPath(context.type)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  const smuggled = 'DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const twoLengths = `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`;
  const misdirected = `${head.replace('localhost', 'rebound.invalid')}Connection: close\r\nContent-Length: 2\r\n\r\n{}`;
  return [
    ...raw(context, 'that is no HTTP', 'HELLO\r\n\r\n', 400, 'bad-request'),
    ...raw(context, 'with a length and chunks', twoLengths, 400, 'bad-request'),
    ...raw(context, 'with two hosts', `${head}Host: localhost\r\nContent-Length: 2\r\n\r\n{}`, 400, 'bad-request'),
    ...raw(
      context,
      'with two codings',
      `${head}Transfer-Encoding: gzip, chunked\r\n\r\n${smuggled}`,
      400,
      'bad-request',
    ),
    ...raw(context, 'with chunks in HTTP/1.0', `${head.replace('/1.1', '/1.0')}${CHUNKED}`, 400, 'bad-request'),
    ...(headerLimit === undefined
      ? []
      : raw(
          context,
          `with more than ${headerLimit} bytes of headers`,
          filled(head, headerLimit),
          431,
          'headers-too-large',
        )),
    ...(refusesHosts ? raw(context, 'to a name of another', misdirected, 421, 'misdirected-request') : []),
    ...(requestTimeout > PATIENCE
      ? []
      : raw(context, 'whose body never ends', `${head}Content-Length: 10\r\n\r\n{`, 408, 'request-timeout')),
  ];
}
