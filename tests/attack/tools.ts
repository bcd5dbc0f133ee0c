/** The tools, from Debian: where one is, and what it prints. */
import { spawn, spawnSync } from 'node:child_process';

/** `ATTACK=short` is quicker. */
export const isLong = process.env['ATTACK'] !== 'short';

const isThere = (tool: string): boolean => spawnSync('which', [tool]).status === 0;

/** The tests of a tool, skipped in words where it is not there. */
export const describeWith = (tool: string, tests: () => void): void => {
  if (isThere(tool)) describe(tool, tests);
  else describe.skip(`${tool}: is missing`, tests);
};

/** All that it prints, without colours. */
export function run(tool: string, words: readonly string[]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn(tool, words, { stdio: ['pipe', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    child.stderr.on('data', (piece: Buffer) => pieces.push(piece));
    child.on('error', reject).on('close', () => resolve(Buffer.concat(pieces)));
    child.stdin.on('error', () => undefined).end();
  });
}
