/**
 * A thousand streams of changes beside 200 writes a second: each has every change, and memory stays flat once the heap has
 * grown, which takes a minute. STREAM_SECONDS=10 is quicker.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createToken, tokenLine } from '../../../engine/access/tokens.ts';
import { ask } from '../../support/ask.ts';
import { urlOf, useCompiled } from '../../support/compiled.ts';
import { createDatabase } from '../../support/databases.ts';

const SECONDS = Number(process.env['STREAM_SECONDS'] ?? 180);
const IDENTITIES = 10;
const STREAMS = 100;
const PAUSE_MS = 5;
/** MiB that garbage collection may be behind. */
const NOISE = 64;

const compiled = useCompiled();

const memoryOf = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'))?.[1]) / 1024;

/** A piece may end within a name: the end of each piece is kept for the next one. */
const EVENT = 'event: change';

async function open(url: string, token: string): Promise<() => number> {
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` };
  const sent = get(`${url}/api/$changes?after=now`, { headers, agent: false });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  let changes = 0;
  let end = '';
  response.setEncoding('latin1').on('data', (piece: string) => {
    const text = end + piece;
    // Parsing events would cost more than what is measured.
    changes += text.split(EVENT).length - 1;
    end = text.slice(Math.max(text.lastIndexOf(EVENT) + EVENT.length, text.length - EVENT.length + 1));
  });
  return () => changes;
}

test('a thousand streams beside writes', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'streams-'));
  writeFileSync(join(directory, 'note.yaml'), 'type: Note\nhistory: true\nfields: { text: { type: string } }\n');
  const tokens = Array.from({ length: IDENTITIES }, createToken);
  const lines = tokens.map((token, at) =>
    tokenLine({ name: `reader${at}`, read: 'all', write: 'all', history: 'all' }, token),
  );
  const database = await createDatabase();
  const environment = { PORT: '0', SCHEMA_DIR: directory, DATABASE_URL: database.url, TOKENS: lines.join(';') };
  const service = compiled.run('server.js', [], environment);
  const url = await urlOf(service);
  const streams: (() => number)[] = [];
  for (const token of tokens)
    streams.push(...(await Promise.all(Array.from({ length: STREAMS }, () => open(url, token)))));
  const headers = { authorization: `Bearer ${String(tokens[0])}` };
  const begun = performance.now();
  const sending: Promise<number>[] = [];
  let warm: number | undefined;
  while (performance.now() - begun < SECONDS * 1000) {
    sending.push(ask(url, 'POST /api/notes', { text: 'a note' }, headers).then(({ status }) => status));
    if (warm === undefined && performance.now() - begun > (SECONDS * 1000) / 3) warm = memoryOf(service.child.pid);
    await sleep(PAUSE_MS);
  }
  const statuses = await Promise.all(sending);
  const memory = memoryOf(service.child.pid);
  expect(new Set(statuses)).toEqual(new Set([201]));
  const isBehind = (): boolean => streams.some((changes) => changes() < statuses.length);
  for (let waits = 0; waits < 600 && isBehind(); waits += 1) await sleep(100);
  expect(new Set(streams.map((changes) => changes()))).toEqual(new Set([statuses.length]));
  console.info(`${statuses.length} writes in ${SECONDS} s, ${warm?.toFixed()} MiB, then ${memory.toFixed()} MiB`);
  expect(memory - (warm ?? 0)).toBeLessThan(NOISE);
  service.child.kill('SIGKILL');
  await service.ended;
  await database.remove();
});
