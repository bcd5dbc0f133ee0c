/** Disks that can be filled, or fail: file systems of their own. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
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

export interface FailingDisk {
  readonly directory: string;
  /** From now on it is read-only, as after an error of the device. */
  fail(): void;
  /** As after a repair. Nothing may have files open there. */
  repair(): void;
  remove(): void;
}

/** undefined where this user, or this system, may not mount one. */
export function mountFailing(megabytes: number): FailingDisk | undefined {
  const place = mkdtempSync(join(tmpdir(), 'failing-'));
  const [image, directory] = [join(place, 'image'), join(place, 'disk')];
  mkdirSync(directory);
  const mount = (): unknown => execFileSync('mount', ['-o', 'loop', image, directory], { stdio: 'ignore' });
  const umount = (): unknown => execFileSync('umount', [directory]);
  try {
    writeFileSync(image, '');
    truncateSync(image, megabytes << 20);
    execFileSync('mkfs.ext4', ['-q', image], { stdio: 'ignore' });
    mount();
  } catch {
    rmSync(place, { recursive: true });
    return undefined;
  }
  return {
    directory,
    fail: () => void execFileSync('mount', ['-o', 'remount,abort', directory]),
    repair: () => {
      umount();
      mount();
    },
    remove: () => {
      umount();
      rmSync(place, { recursive: true });
    },
  };
}
