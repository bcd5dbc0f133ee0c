/** Which core does what: the servers share one, so that none runs beside another, and the driver has another. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';

export interface Cores {
  readonly server: number;
  readonly driver: number;
}

/** The first two that this process may use. */
export function chooseCores(): Cores {
  const [, list = '0'] = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const [server = 0, driver = server] = list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return { server, driver };
}

const hasTaskset = ((): boolean => {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

type Command = readonly [program: string, ...args: string[]];

export const pinned = (cores: readonly number[], command: Command): Command =>
  hasTaskset ? ['taskset', '-c', cores.join(), ...command] : command;

/** Above this, others use the machine, and the figures say more about them. */
const BUSY_LOAD = 0.5;

/** What a reader must know about the machine, in words; to be asked before anything is started. */
export function cautions({ server, driver }: Cores): readonly string[] {
  const [load = 0] = loadavg();
  return [
    ...(load > BUSY_LOAD ? [`The load average was ${load.toFixed(2)} before the start: others use this machine`] : []),
    ...(server === driver ? ['There is one core only: driver and servers share it'] : []),
    ...(hasTaskset ? [] : ['There is no taskset: processes are not pinned to a core']),
  ];
}
