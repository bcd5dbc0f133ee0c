/** Tables as texts (RFC 4180): what spreadsheets would run, and where each record begins. */

const QUOTE = 0x22;
const COMMA = 0x2c;
const NEWLINE = 0x0a;

/** A spreadsheet takes a cell that begins so for a formula. */
const FORMULA = /^"?[=+\-@\t\r]/;
const NUMBER = /^"?-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"?$/i;

/** Puts an apostrophe in front of what would run, and leaves numbers as they are. */
function guarded(cell: string): string {
  if (!FORMULA.test(cell) || NUMBER.test(cell)) return cell;
  return cell.startsWith('"') ? `"'${cell.slice(1)}` : `'${cell}`;
}

export interface TableReader {
  /** Takes the next piece of the table, and returns what can be passed on. */
  push(piece: string): string;
  /** The text that is left at the end. */
  end(): string;
  /** Lines that were passed on, the first one included. */
  readonly lines: number;
}

export function createTableReader(isGuarded: boolean): TableReader {
  const guard = isGuarded ? guarded : (cell: string): string => cell;
  let rest = '';
  let isQuoted = false;
  let lines = 0;
  return {
    push(piece) {
      const text = rest + piece;
      let [from, passed] = [0, ''];
      for (let at = rest.length; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        // Two quotes for one end the quotation and begin it again.
        if (code === QUOTE) isQuoted = !isQuoted;
        if (isQuoted || (code !== COMMA && code !== NEWLINE)) continue;
        const isReturn = code === NEWLINE && at > from && text.charAt(at - 1) === '\r';
        const end = isReturn ? at - 1 : at;
        passed += guard(text.slice(from, end)) + text.slice(end, at + 1);
        from = at + 1;
        if (code === NEWLINE) lines += 1;
      }
      rest = text.slice(from);
      return passed;
    },
    end() {
      const last = guard(rest);
      if (rest !== '') lines += 1;
      rest = '';
      return last;
    },
    get lines() {
      return lines;
    },
  };
}

/** A record in a file, and the line where it begins, from 1. */
export interface FileRecord {
  readonly line: number;
  readonly text: string;
}

/** Line breaks within quotes end no record; lines without a value are none. */
export function recordsOf(text: string, hasQuotes: boolean): readonly FileRecord[] {
  const isNone = hasQuotes ? /^,*$/ : /^\s*$/;
  const records: FileRecord[] = [];
  let [from, line, started, isQuoted] = [text.startsWith('\uFEFF') ? 1 : 0, 1, 1, false];
  const take = (end: number): void => {
    const record = text.slice(from, text.charAt(end - 1) === '\r' ? end - 1 : end);
    if (!isNone.test(record)) records.push({ line: started, text: record });
  };
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE && hasQuotes) isQuoted = !isQuoted;
    if (code !== NEWLINE) continue;
    line += 1;
    if (isQuoted) continue;
    take(at);
    [from, started] = [at + 1, line];
  }
  take(text.length);
  return records;
}
