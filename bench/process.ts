/** A contender as a process of its own on one core, and what the operating system says of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Contender } from './contenders.ts';
import { atTheEnd } from './leftovers.ts';
import { pinned } from './cores.ts';
import { cpuTimes } from './cpu.ts';
import type { Data } from './data.ts';

export interface Running {
  readonly contender: Contender;
  readonly data: Data;
  /** Without a slash at its end. */
  readonly url: string;
  /** Milliseconds from the start of the process until it listened. */
  readonly startTime: number;
  /** CPU time so far of all its threads, and those of its workers and readers, in microseconds. */
  cpu(): number;
  memory(): Memory;
  /** From now on the peak is that of what follows. */
  forgetPeak(): void;
  stop(): Promise<void>;
}

/** In MiB. */
export interface Memory {
  readonly resident: number;
  readonly peak: number;
}

export async function start(contender: Contender, data: Data, cores: readonly number[]): Promise<Running> {
  const { program, options = [], environment } = contender;
  const began = performance.now();
  const [command, ...args] = pinned(cores, [process.execPath, ...options, program]);
  const child = spawn(command, args, {
    env: { ...process.env, PORT: '0', DATABASE_URL: data.url, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const forget = atTheEnd(() => void child.kill('SIGKILL'));
  void ended.then(forget);
  const url = await announced(child, contender.name);
  const startTime = performance.now() - began;
  const { pid = 0 } = child;
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await ended;
  };
  return {
    contender,
    data,
    url,
    startTime,
    cpu: () => [...cpuTimes(pid).values()].reduce((sum, time) => sum + time, 0),
    memory: () => memory(pid),
    forgetPeak: () => writeFileSync(`/proc/${pid}/clear_refs`, '5'),
    stop,
  };
}

/** The address in the first line that holds one. */
function announced({ stdout, ...child }: ChildProcess, name: string): Promise<string> {
  void child;
  return new Promise((resolve, reject) => {
    let output = '';
    stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [url] = /http:\/\/[\w.]+:\d+/.exec(output) ?? [];
      if (url !== undefined && output.includes('\n')) resolve(url);
    });
    stdout?.once('end', () => reject(new Error(`${name} ended before it listened`)));
  });
}

function memory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return { resident: mebibytes('VmRSS'), peak: mebibytes('VmHWM') };
}
