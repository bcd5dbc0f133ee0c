/** CPU times, as the kernel counts them. */
import { readdirSync, readFileSync } from 'node:fs';

/** CPU time so far of all threads of a process, in microseconds: exact where the kernel counts nanoseconds, else to 10 ms. */
function cpuTime(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + threadTime(pid, thread), 0);
  } catch {
    const [, , , , , , , , , , , , , user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/\(.*\)/, '-')
      .split(' ');
    return (Number(user) + Number(system)) * 10_000;
  }
}

const threadTime = (pid: number, thread: string): number =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;

export function childrenOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

/** Microseconds so far of a process and its children. */
export function cpuOf(parent: number): number {
  return [parent, ...childrenOf(parent)].reduce((sum, pid) => {
    try {
      return sum + cpuTime(pid);
    } catch {
      // It has ended since.
      return sum;
    }
  }, 0);
}
