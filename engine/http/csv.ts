/** CSV (RFC 4180): a line of names, then one for each record. An empty cell is null, "" the empty text. */
import { type JsonValue, parsedJson } from '../json.ts';
import type { Field } from '../model/model.ts';

const END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]|^$|^\s|\s$/;

export const csvHead = (names: readonly string[]): string => names.map(quoted).join(',') + END;

/** Of JSON texts. Numbers, and what is kept as JSON, stand as they are written there. */
export const csvLine = (cells: readonly string[]): string => cells.map(cell).join(',') + END;

function cell(text: string): string {
  if (text === 'null') return '';
  return quoted(text.startsWith('"') ? String(JSON.parse(text)) : text);
}

/** A text that begins with `=` stays as it is: what goes out must come in again. */
const quoted = (text: string): string => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// Reading it. Libraries do not tell "" from an empty cell, or take seconds for a megabyte of commas.

/** null for an empty cell without quotes. */
type Cell = string | null;

export interface CsvRow {
  /** Where it begins, counted from 1. */
  readonly line: number;
  readonly cells: readonly Cell[];
}

/** What is wrong with a text that is not CSV. */
export class CsvFault extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

interface CsvReading {
  readonly text: string;
  at: number;
  line: number;
}

/** The rows that have more than separators. Of one with more than `most` cells, the others are not read: they are its last row. */
export function* readCsv(text: string, most: number): Generator<CsvRow, void> {
  const reading: CsvReading = { text, at: 0, line: 1 };
  while (reading.at < text.length) {
    const { line } = reading;
    const cells: Cell[] = [];
    do cells.push(text[reading.at] === '"' ? quotedCell(reading) : plainCell(reading));
    while (cells.length <= most && !endsRow(reading));
    const isLong = cells.length > most;
    if (isLong || cells.some((one) => one !== null)) yield { line, cells };
    if (isLong) return;
  }
}

const PLAIN_STOP = /[",\r\n]/g;

function plainCell(reading: CsvReading): Cell {
  const { text, at } = reading;
  PLAIN_STOP.lastIndex = at;
  reading.at = PLAIN_STOP.exec(text)?.index ?? text.length;
  return reading.at === at ? null : text.slice(at, reading.at);
}

function quotedCell(reading: CsvReading): string {
  const { text, at, line } = reading;
  let end = text.indexOf('"', at + 1);
  while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  if (end === -1) throw new CsvFault(line, 'the cell that begins here with a quote has no closing quote');
  const within = text.slice(at + 1, end);
  reading.at = end + 1;
  for (let next = within.indexOf('\n'); next !== -1; next = within.indexOf('\n', next + 1)) reading.line += 1;
  // With half a million of them, replaceAll takes four times as long, and as much memory.
  return within.split('""').join('"');
}

/** Goes behind the comma, or behind the end of the line. */
function endsRow(reading: CsvReading): boolean {
  const { text, at } = reading;
  const found = text[at];
  if (found === undefined) return true;
  reading.at += found === '\r' ? 2 : 1;
  if (found === ',') return false;
  if (found !== '\n' && !text.startsWith(END, at)) throw misplaced(reading, found, at);
  reading.line += 1;
  return true;
}

function misplaced({ text, line }: CsvReading, found: string, at: number): CsvFault {
  if (found === '"')
    return new CsvFault(line, 'a quote stands inside a cell; put the whole cell in quotes, and write the quote twice');
  if (text[at - 1] === '"')
    return new CsvFault(line, 'a closing quote is followed by other text; write a quote inside a cell twice');
  return new CsvFault(
    line,
    'a carriage return stands alone; end lines with CRLF or LF, and put cells with one in quotes',
  );
}

// What a cell holds is told by the field: a text as it is, JSON, or either.

type CellForm = 'text' | 'json' | 'either';

/** Of a value that may be of any type, JSON stands for itself and any other text for a string. */
export function cellForm(field: Field): CellForm {
  const { type } = field.type.schema(field);
  if (type === undefined) return 'either';
  return type === 'string' ? 'text' : 'json';
}

const MAY_BE_JSON = /^\s*[[{"\-\dtf]/;
/** Spreadsheets write them in capitals. */
const TRUTH = /^\s*(?:true|false)\s*$/i;

/** The value of a cell that is JSON; undefined for any other text. Null is an empty cell. */
export const jsonIn = (text: string): JsonValue | undefined =>
  MAY_BE_JSON.test(text) ? (parsedJson(text) ?? undefined) : undefined;

/** The same, with true and false in any case. */
export const scalarIn = (text: string): JsonValue | undefined => jsonIn(TRUTH.test(text) ? text.toLowerCase() : text);

/** The JSON text of what stands in a cell that holds either. */
export function eitherCell(text: string): string {
  if (!text.startsWith('"')) return text;
  const value = String(JSON.parse(text));
  return jsonIn(value) === undefined && JSON.stringify(value) === text ? text : JSON.stringify(text);
}
