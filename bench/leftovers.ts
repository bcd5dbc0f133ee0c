/** What must not stay behind, however this process ends: servers that run, folders. */
import { constants } from 'node:os';

const undoing = new Set<() => void>();

/** `undo` is called at the end of the process, the latest first, unless what is returned has been called before. */
export function atTheEnd(undo: () => void): () => void {
  undoing.add(undo);
  return () => void undoing.delete(undo);
}

process.on('exit', () => {
  for (const undo of [...undoing].toReversed()) undo();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
