/** A client that asks for one record after the other at a fixed rate, be the last one answered or not: what waits is counted as waiting. */
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { assist } from '../driver/assistant.ts';
import { percentile } from '../statistics.ts';
import type { Waits } from './waits.ts';

export interface Probing {
  /** Of the records, without their identifiers. */
  readonly url: string;
  readonly rows: number;
  /** Requests in a second. */
  readonly rate: number;
  readonly seconds: number;
}

const agent = new Agent({ keepAlive: true });

/** Milliseconds until the last byte of the answer. */
const ask = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = performance.now();
    get(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
      response.resume().once('end', () => resolve(performance.now() - sent));
    }).on('error', reject);
  });

async function probe({ url, rows, rate, seconds }: Probing): Promise<Waits> {
  const waits: Promise<number>[] = [];
  const began = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    const due = began + (n * 1000) / rate;
    while (performance.now() < due) await sleep(due - performance.now());
    waits.push(ask(`${url}/${1 + ((n * 7919) % rows)}`));
  }
  const times = await Promise.all(waits);
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: Math.max(...times) };
}

assist(probe);
