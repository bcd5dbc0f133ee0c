/** Instances of the compiled service under a supervisor that starts them again, as systemd or Kubernetes would. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Compiled, type Running, urlOf } from '../support/compiled.ts';
import type { Target } from './clients.ts';

/** Folders below tests/fixtures/chaos. */
export type Version = 'first' | 'second';
export const schemaOf = (version: Version): string => `tests/fixtures/chaos/${version}`;

const RESTART_MS = 200;
/** A start that takes longer never ends. */
const START_MS = 180_000;

export class DoesNotStart extends Error {}

export class Instance {
  readonly #compiled: Compiled;
  readonly #name: string;
  readonly #port: number;
  readonly #environment: Readonly<Record<string, string>>;
  #version: Version;
  #running: Running | undefined;
  #isUp = false;
  #isWanted = false;
  #turn: Promise<void> = Promise.resolve();
  /** What it printed when it ended though nobody had told it to, or did not start. */
  readonly ends: string[] = [];

  constructor(compiled: Compiled, name: string, port: number, environment: Readonly<Record<string, string>>) {
    this.#compiled = compiled;
    this.#name = name;
    this.#port = port;
    this.#environment = environment;
    this.#version = 'first';
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get target(): Target {
    return { name: `${this.#name} (${this.#version})`, url: `http://127.0.0.1:${this.#port}` };
  }

  get version(): Version {
    return this.#version;
  }

  /** Resolves once it serves. */
  start(version?: Version): Promise<void> {
    return this.#inTurn(() => this.#start(version ?? this.#version));
  }

  /** Ends it, and starts it again. */
  renew(signal: 'SIGKILL' | 'SIGTERM', version?: Version): Promise<void> {
    return this.#inTurn(async () => {
      await this.#stop(signal);
      await this.#start(version ?? this.#version);
    });
  }

  end(): Promise<void> {
    this.#isWanted = false;
    return this.#inTurn(() => this.#stop('SIGKILL'));
  }

  /** Two faults may choose the same instance. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async #start(version: Version): Promise<void> {
    this.#version = version;
    this.#isWanted = true;
    const limit = Date.now() + START_MS;
    while (this.#isWanted && !this.#isUp) {
      if (Date.now() > limit) throw new DoesNotStart(this.ends.at(-1));
      await this.#startOnce();
      if (!this.#isUp) await pause(RESTART_MS);
    }
  }

  async #startOnce(): Promise<void> {
    const environment = { ...this.#environment, PORT: String(this.#port), SCHEMA_DIR: schemaOf(this.#version) };
    const running = this.#compiled.run('server.js', [], environment);
    this.#running = running;
    void running.ended.then(() => this.#ended(running));
    try {
      await urlOf(running);
      this.#isUp = this.#running === running && running.child.exitCode === null && running.child.signalCode === null;
    } catch {
      // Its end is noted below.
    }
  }

  #ended(running: Running): void {
    if (this.#running !== running) return;
    const wasUp = this.#isUp;
    this.#isUp = false;
    if (!this.#isWanted) return;
    this.ends.push(
      `${this.target.name} ${wasUp ? 'ended by itself' : 'did not start'}: ${running.out()}${running.err()}`,
    );
    if (wasUp) this.start().catch(() => undefined);
  }

  signal(signal: NodeJS.Signals): void {
    this.#running?.child.kill(signal);
  }

  /** The process and its workers. */
  signalAll(signal: NodeJS.Signals): void {
    for (const pid of this.workers) kill(pid, signal);
    this.signal(signal);
  }

  /** Their process ids; none if the instance serves alone. */
  get workers(): readonly number[] {
    const { pid } = this.#running?.child ?? {};
    return pid === undefined ? [] : childrenOf(pid);
  }

  /** Resolves once it is gone. */
  async #stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#isWanted = false;
    this.#isUp = false;
    // A frozen one would not hear SIGTERM.
    this.signalAll('SIGCONT');
    this.signal(signal);
    await this.#running?.ended;
  }
}

const LEAST_PORT = 10_240;

/** Of the ports that the system gives to outgoing connections: one that is free now may be taken during a restart. */
function firstOutgoingPort(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    return 32_768;
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}

/** It may have ended. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has.
  }
}

/** A port that stays the instance's own over its restarts. */
export async function freePort(): Promise<number> {
  const port = randomInt(LEAST_PORT, firstOutgoingPort());
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isFree ? port : freePort();
}
