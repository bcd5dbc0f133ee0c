/** The faults of lines: the first of them for people, and all of them in a file for programs. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { type Naming, type NewFile, newFile } from '../files.ts';
import { shortened } from '../names.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';
import { LinesRefused } from '../storage/transfer/import.ts';
import type { Faults } from '../storage/transfer/lines.ts';

export interface LineReport extends Faults {
  /** What is wrong with the file, a line for each fault. */
  text(file: string): string;
  /** Gives the file of faults its name. */
  finish(): void;
  /** Removes what was not finished. */
  close(): void;
}

/** Characters of a pointer that are shown. */
const MAX_POINTER = 200;
/** Characters that are collected before they are written. */
const PIECE = 64 * 1024;

interface Sink {
  write(text: string): void;
  restart(): void;
  finish(): void;
  close(): void;
}

/** Without a file it ends the import after as many faults as are shown. */
export function lineReport(file: string | undefined, naming: Naming): LineReport {
  const sink = file === undefined ? undefined : openSink(newFile(file, naming));
  let shown: string[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    get room() {
      return sink ? Infinity : MAX_ERRORS - count;
    },
    add: (line, fault) => {
      count += 1;
      if (shown.length < MAX_ERRORS) shown.push(textOf(line, fault));
      sink?.write(`${JSON.stringify({ line, ...fault })}\n`);
      if (!sink && count >= MAX_ERRORS) throw new LinesRefused();
    },
    restart: () => {
      [shown, count] = [[], 0];
      sink?.restart();
    },
    text: (from) => [...shown, summary(from, count, file)].join('\n'),
    finish: () => sink?.finish(),
    close: () => sink?.close(),
  };
}

function summary(from: string, count: number, report: string | undefined): string {
  const faults = `${count} ${count === 1 ? 'fault' : 'faults'}`;
  if (report !== undefined) return `${from}: ${faults}, all of them in ${report}. Nothing was changed.`;
  const more = count < MAX_ERRORS ? '' : '; the rest was not read, --report FILE writes all faults';
  return `${from}: ${faults}${more}. Nothing was changed.`;
}

function textOf(line: number, fault: Fault): string {
  const place = 'pointer' in fault && fault.pointer !== '' ? ` ${shortened(fault.pointer, MAX_POINTER)}` : '';
  return `Line ${line}${place}: ${fault.message}`;
}

function openSink(file: NewFile): Sink {
  const handle = openSync(file.partial, 'r+');
  let open = true;
  let piece = '';
  let end = 0;
  const flush = (): void => {
    const bytes = Buffer.from(piece);
    piece = '';
    for (let from = 0; from < bytes.length;) {
      const written = writeSync(handle, bytes, from, bytes.length - from, end);
      [from, end] = [from + written, end + written];
    }
  };
  const close = (): void => {
    if (open) closeSync(handle);
    open = false;
  };
  return {
    write: (text) => {
      piece += text;
      if (piece.length > PIECE) flush();
    },
    restart: () => {
      [piece, end] = ['', 0];
      ftruncateSync(handle);
    },
    finish: () => {
      flush();
      close();
      file.finish();
    },
    close: () => {
      close();
      file.discard();
    },
  };
}
