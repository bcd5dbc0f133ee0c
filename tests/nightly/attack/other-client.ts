/**
 * Another client, in a process of its own: `other-client.ts URL`. On a connection that it keeps, it asks for one record
 * again and again until its input ends, and prints how long it waited. A wait that is open at the end counts with its age.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Waits {
  readonly served: number;
  readonly refused: number;
  readonly p99: number;
  readonly longest: number;
}

const [, , url = ''] = process.argv;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function get(): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${url}/api/notes/1?fields=title`, { agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', () => resolve(0));
    });
    sent.setTimeout(60_000, () => sent.destroy());
    sent.on('error', () => resolve(0)).end();
  });
}

const waits: number[] = [];
let open: number | undefined;
let served = 0;
let refused = 0;

async function ask(): Promise<never> {
  await get();
  process.stdout.write('ready\n');
  for (;;) {
    open = performance.now();
    const status = await get();
    waits.push(performance.now() - open);
    open = undefined;
    if (status === 200) served += 1;
    else refused += 1;
    await sleep(5);
  }
}

function told(): Waits {
  if (open !== undefined) waits.push(performance.now() - open);
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { served, refused, p99: at(0.99), longest: at(1) };
}

void ask();
process.stdin.resume().once('end', () => process.stdout.write(`${JSON.stringify(told())}\n`, () => process.exit()));
