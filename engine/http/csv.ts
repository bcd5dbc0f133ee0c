/** CSV (RFC 4180): a line of names, then one for each record. An empty cell is null, "" the empty text. */
import { escapeStep, type JsonObject, type JsonValue, parsedJson } from '../json/json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, faultyRequest, MAX_ERRORS, type Problem } from '../problem.ts';
import { compact, type RawMember, readJson, textFault } from '../json/tokenizer.ts';
import type { Body, BodyLimits } from '../operations/body.ts';
import { accept, atLine, attempt, bodyOf, noRecords, type ReadRecords } from './lines.ts';
import { NDJSON_TYPE } from '../operations/table.ts';

const END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]|^$|^\s|\s$/;

export const csvHead = (names: readonly string[]): string => names.map(quoted).join(',') + END;

/** Of JSON texts. Numbers, and what is kept as JSON, stand as they are written there. */
export const csvLine = (cells: readonly string[]): string => cells.map(cellOf).join(',') + END;

function cellOf(text: string): string {
  if (text === 'null') return '';
  return quoted(text.startsWith('"') ? String(JSON.parse(text)) : text);
}

/** A text that begins with `=` stays as it is: what goes out must come in again. */
const quoted = (text: string): string => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// Reading it. Libraries do not tell "" from an empty cell, or take seconds for a megabyte of commas.

/** null for an empty cell without quotes. */
type Cell = string | null;

interface CsvRow {
  /** Number of its first line, from 1. */
  readonly line: number;
  readonly cells: readonly Cell[];
}

/** The text is not CSV. */
class CsvFault extends Error {
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

// The field decides how a cell is read: as text, as JSON, or as either.

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
const jsonIn = (text: string): JsonValue | undefined =>
  MAY_BE_JSON.test(text) ? (parsedJson(text) ?? undefined) : undefined;

/** The same, with true and false in any case. */
const scalarIn = (text: string): JsonValue | undefined => jsonIn(TRUTH.test(text) ? text.toLowerCase() : text);

/** The JSON text of what stands in a cell that holds either. */
export function eitherCell(text: string): string {
  if (!text.startsWith('"')) return text;
  const value = String(JSON.parse(text));
  return jsonIn(value) === undefined && JSON.stringify(value) === text ? text : JSON.stringify(text);
}

/** Of a cell that is not empty. */
interface CellValue {
  readonly value: JsonValue;
  /** Of a value that is kept as JSON text. */
  readonly text?: string;
  /** Keys within it. */
  readonly keys?: number;
}

interface CsvColumn {
  readonly name: string;
  /** Throws a Problem, with pointers from the value on. */
  readonly read: (cell: string) => CellValue;
}

type CsvColumns = ReadonlyMap<string, CsvColumn>;

/** The readers of the columns are made once for each type. */
export function csvReader(type: RecordType, limits: BodyLimits, rights: Rights): (text: string) => Body {
  const relations = relationsFor(rights, type);
  const columns = columnsOf({ ...type, relations }, limits);
  return (text) => {
    const gathered = noRecords();
    try {
      readTable(text, { type: { ...type, relations }, columns, limits, gathered });
    } catch (error) {
      if (!(error instanceof CsvFault)) throw error;
      refuseLine(gathered, error.line, `The text is not valid CSV: ${error.message}`);
    }
    return bodyOf(gathered, limits);
  };
}

interface TableReading {
  readonly type: RecordType;
  readonly columns: CsvColumns;
  readonly limits: BodyLimits;
  readonly gathered: ReadRecords;
}

function readTable(text: string, reading: TableReading): void {
  const { columns, limits, gathered } = reading;
  const rows = readCsv(text, columns.size + MAX_ERRORS);
  const head = rows.next();
  if (head.done === true) return refuseLine(gathered, 1, `The body is empty; ${firstLine(columns)}`);
  const named = namedColumns(head.value, reading, text.includes('\n'));
  for (const { line, cells } of rows) {
    if (cells.length !== named.length) {
      const found = cells.length > columns.size + MAX_ERRORS ? `more than ${cells.length - 1}` : cells.length;
      refuseLine(
        gathered,
        line,
        `The number of cells is ${found}, but that of the columns in the first line is ${named.length}`,
      );
      continue;
    }
    const pointer = `/${gathered.records.length}`;
    const body: Record<string, JsonValue> = {};
    for (const [index, { name, read }] of named.entries()) {
      const cell = cells[index] ?? null;
      if (cell === null) body[name] = null;
      else
        attempt(gathered, line, `${pointer}/${escapeStep(name)}`, () => {
          const { value, text: kept, keys = 0 } = read(cell);
          body[name] = value;
          gathered.keys += keys;
          if (kept !== undefined) keep(gathered, body, name, kept);
        });
    }
    accept(gathered, { body, pointer, tag: undefined }, line, limits);
  }
}

function refuseLine({ faults }: ReadRecords, line: number, message: string): void {
  faults.push({ code: 'invalid-csv', fault: { pointer: '', code: 'invalid-csv', message }, line });
}

function keep({ raw }: ReadRecords, body: JsonObject, name: string, text: string): void {
  const members = raw.get(body) ?? new Map<string, RawMember>();
  members.set(name, { name: JSON.stringify(name), text });
  raw.set(body, members);
}

// The line that names the columns.

const firstLine = (columns: CsvColumns): string =>
  `the first line must name the columns, such as ${[...columns.keys()].slice(0, 5).join(',')}`;

/** Throws a Problem if a name is unknown, or given twice. */
function namedColumns(
  { line, cells }: CsvRow,
  { type, columns }: TableReading,
  hasMore: boolean,
): readonly CsvColumn[] {
  const [only] = cells;
  const separator = cells.length === 1 && !columns.has(only ?? '') ? /[;\t|]/.exec(only ?? '')?.[0] : undefined;
  if (separator !== undefined) throw faultyRequest('invalid-csv', [atLine(otherSeparator(separator), line)]);
  const seen = new Set<string>();
  const faults: Fault[] = [];
  const refuse = (code: string, message: string): void =>
    void faults.push(atLine({ pointer: '', code, message }, line));
  const named = cells.flatMap((cell, index) => {
    const name = cell ?? '';
    const column = columns.get(name);
    if (seen.has(name)) refuse('repeated', `The column ${shown(name)} is named twice`);
    else if (column === undefined) refuse('unknown-key', unknownColumn(name, index, faults.length, { type, columns }));
    seen.add(name);
    return column ?? [];
  });
  const [first] = faults;
  if (first === undefined) return named;
  const cures = [...(named.length > 0 ? [] : [firstLine(columns)]), ...(hasMore ? [] : [ONE_LINE])];
  throw faultyRequest('invalid-body', [
    { ...first, message: [first.message, ...cures].join('; ') },
    ...faults.slice(1),
  ]);
}

const ONE_LINE = 'the body is a single line (curl sends a file as it is with --data-binary @FILE; -d joins its lines)';

const otherSeparator = (separator: string): Fault => ({
  pointer: '',
  code: 'separator',
  message: `The columns are separated by ${JSON.stringify(separator)}; CSV separates them by commas: choose the comma where the file is saved`,
});

const shown = (name: string): string => JSON.stringify(shortened(name));

function unknownColumn(
  name: string,
  index: number,
  before: number,
  { type, columns }: Pick<TableReading, 'type' | 'columns'>,
): string {
  if (name === '') return `Column ${index + 1} has no name`;
  if (type.relations.has(name))
    return `The column "${name}" is a relation that a cell cannot hold; send ${NDJSON_TYPE}`;
  const hint = type.open ? `; keys that no field names are not for CSV: send ${NDJSON_TYPE}` : '';
  return `Unknown column ${shown(name)}${before < MAX_ERRORS ? didYouMean(name, columns.keys()) : ''}${hint}`;
}

// Values of cells.

function columnsOf({ identifier, fields, relations }: RecordType, limits: BodyLimits): CsvColumns {
  const toOne = [...relations.values()].filter(({ toMany, target }) => !toMany && target.identifier.inRecord);
  const all: readonly CsvColumn[] = [
    ...(identifier.inRecord ? [{ name: identifier.name, read: readScalar }] : []),
    ...[...fields.values()].map((field) => ({ name: field.name, read: fieldReader(field, limits) })),
    ...toOne.map((relation) => ({ name: relation.name, read: linkReader(relation) })),
  ];
  return new Map(all.map((column) => [column.name, column]));
}

const readPlain: CsvColumn['read'] = (cell) => {
  const fault = textFault(cell, 'The string');
  if (fault) throw unstorable(...fault);
  return { value: cell };
};

const unstorable = (code: string, message: string): Problem =>
  faultyRequest('invalid-body', [{ pointer: '', code, message }]);

/** A cell that is not JSON stays a text, which the validator refuses. */
const readScalar: CsvColumn['read'] = (cell) => {
  const value = scalarIn(cell);
  if (value === undefined || typeof value === 'object') return readPlain(cell);
  if (typeof value === 'number' && !Number.isFinite(value)) throw unstorable('number-range', 'The number is too large');
  return { value };
};

function fieldReader(field: Field, limits: BodyLimits): CsvColumn['read'] {
  if (field.type.keepsText) return keptReader(field, limits);
  return cellForm(field) === 'text' ? readPlain : readScalar;
}

/** JSON as it is written; any other text is a string. */
function keptReader({ name }: Field, limits: BodyLimits): CsvColumn['read'] {
  const what = `The value of "${name}"`;
  return (cell) => {
    if (jsonIn(cell) === undefined) return { ...readPlain(cell), text: JSON.stringify(cell) };
    const { value, keys, faults } = readJson(cell, { limits, kept: 'text', what });
    if (faults.length > 0) throw faultyRequest('invalid-body', faults);
    return { value, text: compact(cell), keys };
  };
}

/** The identifier of a related record. */
function linkReader({ target: { identifier } }: Relation): CsvColumn['read'] {
  return (cell) => ({ value: { [identifier.name]: readScalar(cell).value } });
}
