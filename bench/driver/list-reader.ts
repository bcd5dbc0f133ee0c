/** A client that reads whole lists as fast as they come, and counts their records. */
import { get, type IncomingMessage } from 'node:http';
import { assist } from './assistant.ts';

export interface Reading {
  readonly url: string;
  /** Lists are read one after the other, and the last is left when they have passed; none, and one is read to its end. */
  readonly seconds?: number;
}

export interface Read {
  readonly records: number;
  readonly bytes: number;
  readonly seconds: number;
}

/** Each record is one object that holds no other. */
const RECORD = '{'.charCodeAt(0);

async function open(url: string): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, resolve).on('error', reject);
  });
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`);
  return response;
}

function recordsIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(RECORD); at >= 0; at = chunk.indexOf(RECORD, at + 1)) count += 1;
  return count;
}

interface Count {
  records: number;
  bytes: number;
}

async function readList(url: string, until: number, count: Count): Promise<void> {
  for await (const chunk of await open(url)) {
    count.records += recordsIn(chunk as Buffer);
    count.bytes += (chunk as Buffer).length;
    if (performance.now() > until) return;
  }
}

async function read({ url, seconds }: Reading): Promise<Read> {
  const began = performance.now();
  const count = { records: 0, bytes: 0 };
  if (seconds === undefined) await readList(url, Infinity, count);
  else for (const until = began + seconds * 1000; performance.now() < until;) await readList(url, until, count);
  return { ...count, seconds: (performance.now() - began) / 1000 };
}

assist(read);
