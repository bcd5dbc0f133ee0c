/** A disk that can be filled: a file system of its own, in memory. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly directory: string;
  /** Takes all the space that is left; what it answers gives it back. */
  fill(): () => void;
  remove(): void;
}

/** undefined where this user, or this system, may not mount one. */
export function mountSmall(megabytes: number): SmallDisk | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'small-'));
  const ballast = join(directory, 'ballast');
  const fill = (): (() => void) => {
    try {
      writeFileSync(ballast, Buffer.alloc(megabytes << 20));
    } catch {
      // As much of it as there is space for.
    }
    return () => rmSync(ballast);
  };
  const remove = (): void => {
    execFileSync('umount', [directory]);
    rmSync(directory, { recursive: true });
  };
  return isMounted(directory, megabytes) ? { directory, fill, remove } : undefined;
}

function isMounted(directory: string, megabytes: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], { stdio: 'ignore' });
    return true;
  } catch {
    rmSync(directory, { recursive: true });
    return false;
  }
}
