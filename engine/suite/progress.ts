/** A bar that grows in one line of a terminal. */
import { printable } from '../terminal.ts';
import type { Result } from './replay.ts';

interface Terminal {
  readonly columns: number;
  write(text: string): unknown;
}

export interface Progress {
  show(result: Result, done: number, all: number): void;
  clear(): void;
}

const WIDTH = 30;
/** Often enough to see it move, seldom enough not to slow anything down. */
const INTERVAL = 50;
const CLEAR_LINE = '\r\u001B[2K';

export function progressLine(terminal: Terminal): Progress {
  let shownAt = 0;
  let failed = 0;
  const show = (result: Result, done: number, all: number): void => {
    if (result.outcome === 'failed') failed += 1;
    if (performance.now() - shownAt < INTERVAL && done < all) return;
    shownAt = performance.now();
    const bar = '█'.repeat(Math.round((done / all) * WIDTH)).padEnd(WIDTH, '·');
    const failures = failed > 0 ? `, ${failed} failed` : '';
    const line = `${bar} ${done}/${all}${failures}  ${result.case.type} ${result.case.title}`;
    terminal.write(CLEAR_LINE + printable(line).slice(0, Math.max(20, terminal.columns - 1)));
  };
  return { show, clear: () => void terminal.write(CLEAR_LINE) };
}
