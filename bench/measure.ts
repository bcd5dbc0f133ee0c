/** Measures: both servers do each work in turns, round by round, while the other one stands still. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Cores, pinned } from './cores.ts';
import { cpuOf } from './cpu.ts';
import { SPARE } from './data.ts';
import { type Job, type Outcome, sent } from './driver.ts';
import type { Work } from './work.ts';

export interface Server {
  readonly name: string;
  readonly byHand: boolean;
  readonly url: string;
  /** CPU time so far of the process and its children, in microseconds. */
  cpu(): number;
  stop(): Promise<void>;
}

export interface Driver {
  drive(job: Job): Promise<Outcome>;
  stop(): void;
}

export interface Figures {
  /** Medians of the rounds: microseconds of the server's CPU per request, requests per second, milliseconds. */
  readonly cpu: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** The cheapest round: other programs on the machine can only add to a cost. */
  readonly leastCpu: number;
}

export interface Plan {
  readonly rows: number;
  readonly connections: number;
  readonly rounds: number;
  /** How long a round is to last, about. */
  readonly seconds: number;
}

export async function startServer(
  name: string,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  { server }: Cores,
): Promise<Server> {
  const [program = '', ...args] = pinned([server], [process.execPath, ...command]);
  const child = spawn(program, args, {
    env: { ...process.env, PORT: '0', NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  process.once('exit', () => child.kill('SIGKILL'));
  const url = await addressIn(child, name);
  return {
    name,
    byHand: name !== 'engine',
    url,
    cpu: () => cpuOf(child.pid ?? 0),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function addressIn({ stdout }: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [url] = /http:\/\/[\w.]+:\d+(?=\D)/.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
    stdout?.once('end', () => reject(new Error(`${name} ended before it listened`)));
  });
}

export function startDriver({ driver }: Cores): Driver {
  const [program = '', ...args] = pinned([driver], [process.execPath, join(__dirname, 'driver.js')]);
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    drive: async (job) => {
      child.send(job);
      const [reply] = (await once(child, 'message')) as [{ outcome?: Outcome; error?: string }];
      if (reply.outcome === undefined) throw new Error(reply.error);
      if (reply.outcome.failures > 0) throw new Error(`${job.work}: ${reply.outcome.failures} of ${job.amount} failed`);
      return reply.outcome;
    },
    stop: () => void child.kill(),
  };
}

/** With fewer requests, the first rounds would run code that is not compiled yet. */
const WARM_UP = 5000;
const CHECKED = 3;

/** One server in the rounds of one work. Its requests are numbered, so that no two send the same write. */
class Lane {
  readonly #cpu: number[] = [];
  readonly #outcomes: (Outcome & { readonly rate: number })[] = [];
  #next = 1;
  #amount = 0;
  readonly server: Server;
  readonly #work: Work;
  readonly #plan: Plan;
  readonly #driver: Driver;

  constructor(server: Server, work: Work, plan: Plan, driver: Driver) {
    this.server = server;
    this.#work = work;
    this.#plan = plan;
    this.#driver = driver;
  }

  /** A wrong answer is fast for nothing: the first ones are compared. */
  async prepare(): Promise<void> {
    const { rows, connections, seconds, rounds } = this.#plan;
    for (; this.#next <= CHECKED; this.#next += 1) await check(this.server, this.#work, this.#next, rows);
    let rate = 0;
    for (let warmed = 0; warmed < WARM_UP;) {
      const amount = Math.max(connections, Math.min(WARM_UP - warmed, Math.ceil(rate * seconds) || connections * 20));
      rate = amount / (await this.#drive(amount)).seconds;
      warmed += amount;
      // Slow work is warm sooner.
      if (rate * seconds * 5 < warmed) break;
    }
    const most = this.#work.consumes ? Math.floor((SPARE - this.#next) / rounds) : Number.POSITIVE_INFINITY;
    this.#amount = Math.max(connections, Math.min(most, Math.round(rate * seconds)));
  }

  async round(): Promise<void> {
    const before = this.server.cpu();
    const outcome = await this.#drive(this.#amount);
    this.#cpu.push((this.server.cpu() - before) / this.#amount);
    this.#outcomes.push({ ...outcome, rate: this.#amount / outcome.seconds });
  }

  figures(): Figures {
    return {
      cpu: median(this.#cpu),
      leastCpu: Math.min(...this.#cpu),
      rate: median(this.#outcomes.map(({ rate }) => rate)),
      p50: median(this.#outcomes.map(({ p50 }) => p50)),
      p99: median(this.#outcomes.map(({ p99 }) => p99)),
    };
  }

  async #drive(amount: number): Promise<Outcome> {
    const { url, byHand } = this.server;
    const { rows, connections } = this.#plan;
    const job = { url, byHand, work: this.#work.name, rows, connections, first: this.#next, amount };
    this.#next += amount;
    return this.#driver.drive(job);
  }
}

export async function measure(
  servers: readonly Server[],
  work: Work,
  plan: Plan,
  driver: Driver,
): Promise<ReadonlyMap<string, Figures>> {
  const lanes = servers.map((server) => new Lane(server, work, plan, driver));
  for (const lane of lanes) await lane.prepare();
  for (let round = 0; round < plan.rounds; round += 1)
    // Each is first as often as the others.
    for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) await lane.round();
  return new Map(lanes.map((lane) => [lane.server.name, lane.figures()]));
}

async function check({ name, byHand, url }: Server, work: Work, n: number, rows: number): Promise<void> {
  const { path, ...init } = sent(work.request(n, rows), byHand);
  const response = await fetch(url + path, init);
  const text = await response.text();
  const where = `${name}: ${init.method} ${path}`;
  if (response.status !== work.status) throw new Error(`${where} answered ${response.status}: ${text}`);
  const expected = work.expected(n, rows);
  if (!isDeepStrictEqual(known(JSON.parse(text), expected), expected))
    throw new Error(`${where} answered ${text}, expected ${JSON.stringify(expected)}`);
}

/** The keys of an answer that are expected: a client cannot know the identifiers of what it makes. */
function known(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(actual) && Array.isArray(expected)) return actual.map((item, at) => known(item, expected[at]));
  if (typeof actual !== 'object' || typeof expected !== 'object' || actual === null || expected === null) return actual;
  const given = actual as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, known(given[key], value)]));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}
