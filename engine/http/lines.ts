/** Reads bodies with a record per line: NDJSON, and CSV (RFC 4180), where an empty cell is null, `""` the empty string. */
import { isUtf8 } from 'node:buffer';
import type { Shape } from '../field-types/field-type.ts';
import {
  decode,
  escapeStep,
  isObject,
  isWhole,
  type JsonObject,
  type JsonValue,
  parsedJson,
  textFault,
  unescapedSteps,
} from '../json/json.ts';
import { NO_RAW_VALUES, type RawMember, readJson, readObject } from '../json/tokenizer.ts';
import { expectedOf, type IdentifierField } from '../model/identifier.ts';
import { type Field, identifierIn, linkKeys, type RecordType } from '../model/model.ts';
import { knownMembers, type Rights, seesMember } from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { CSV_TYPE, NDJSON_TYPE } from '../operations/table.ts';
import {
  batchLimits,
  type Body,
  type BodyLimits,
  bodyReading,
  itemOf,
  type ParsedRecord,
  tooManyItems,
} from '../operations/body.ts';
import { type Fault, faultyRequest, MAX_ERRORS, Problem, type ProblemCode } from '../problem.ts';

const atLine = (fault: Fault, line: number): Fault => ({ ...fault, line, message: `Line ${line}: ${fault.message}` });

export function textOfLines(bytes: Buffer, mediaType: string): string {
  if (isUtf8(bytes)) return bytes.length === 0 ? '' : decode(bytes);
  const message =
    'The text is not valid UTF-8; save the file as UTF-8 (spreadsheets call it "CSV UTF-8" or "Unicode (UTF-8)")';
  const code = mediaType === CSV_TYPE ? 'invalid-csv' : 'invalid-json';
  throw faultyRequest(code, [{ pointer: '', code, message }]);
}

/** Collects the records of lines, and reports all faults of a body at once. */
class LineReader {
  /** Counts keys inside values, and for NDJSON the keys of the records too. */
  keys = 0;
  readonly raw = new Map<JsonObject, ReadonlyMap<string, RawMember>>();
  readonly #limits: BodyLimits;
  readonly #records: ParsedRecord[] = [];
  readonly #lines: number[] = [];
  readonly #refused: { readonly line: number; readonly code: ProblemCode; readonly fault: Fault }[] = [];

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  add(line: number, record: Pick<ParsedRecord, 'body' | 'tag'>): void {
    const { batchLimit } = this.#limits;
    this.#records.push({ ...record, pointer: `/${this.#records.length}`, place: `line ${line}` });
    this.#lines.push(line);
    if (this.#records.length > batchLimit)
      throw tooManyItems(batchLimit, `The body has more than ${batchLimit} records`);
  }

  refuse(line: number, code: ProblemCode, fault: Fault): void {
    this.#refused.push({ line, code, fault });
  }

  /** Reads the next record, or the value in it at this pointer. */
  attempt(line: number, pointer: string, read: () => void): void {
    const start = `/${this.#records.length}${pointer}`;
    try {
      read();
    } catch (error) {
      if (!(error instanceof Problem) || error.errors.length === 0) throw error;
      for (const fault of error.errors)
        this.refuse(line, error.code, 'pointer' in fault ? { ...fault, pointer: start + fault.pointer } : fault);
    }
  }

  /** `inWords` translates fault locations to what the client wrote. */
  body(inWords = (fault: Fault): Fault => fault): Body {
    const { bodyKeys } = this.#limits;
    // After a syntax fault, other lines may be misread: report only syntax faults.
    const unreadable = this.#refused.find(({ code }) => code !== 'invalid-body');
    if (unreadable) {
      const alike = this.#refused.filter(({ code }) => code === unreadable.code);
      const faults = alike.map(({ line, fault }) => atLine(fault, line));
      throw faultyRequest(unreadable.code, faults);
    }
    if (this.keys > bodyKeys)
      throw new Problem('content-too-large', `The body has more than ${bodyKeys} keys; send it in parts`);
    const raw = this.raw.size === 0 ? NO_RAW_VALUES : this.raw;
    const faults = this.#refused.map(({ fault }) => fault);
    const lineOf = (pointer: string): number | undefined => this.#lines[Number(/^\/(\d+)/.exec(pointer)?.[1])];
    const reworded = (fault: Fault): Fault => {
      const line = 'pointer' in fault ? lineOf(fault.pointer) : undefined;
      return line === undefined ? fault : atLine(inWords(fault), line);
    };
    return { records: this.#records, reworded, raw, isArray: true, faults };
  }
}

export function readNdjson(text: string, type: RecordType, limits: BodyLimits): Body {
  const reader = new LineReader(batchLimits(type, limits));
  for (const [index, content] of text.split('\n').entries()) {
    if (content.trim() === '') continue;
    let record: Pick<ParsedRecord, 'body' | 'tag'> = { body: {}, tag: undefined };
    reader.attempt(index + 1, '', () => {
      const { object, raw, keys, faults } = readObject(content, { limits, what: 'The line', ...bodyReading(type) });
      record = itemOf(object, '', raw);
      for (const [body, members] of raw) reader.raw.set(body, members);
      reader.keys += keys;
      if (faults.length > 0) throw faultyRequest('invalid-body', faults);
    });
    reader.add(index + 1, record);
  }
  return reader.body();
}

// CSV cells. The field decides whether a cell is a string or JSON.

/** `either`: valid JSON is a value of any type; anything else is a string. */
export function cellForm(field: Shape & Pick<Field, 'type'>): 'text' | 'json' | 'either' {
  const { type } = field.type.schema(field);
  if (type === undefined) return 'either';
  return type === 'string' ? 'text' : 'json';
}

const MAY_BE_JSON = /^\s*[[{"\-\dtf]/;

/** The value of a cell that is JSON, else undefined. Null is an empty cell. */
const jsonIn = (text: string): JsonValue | undefined =>
  MAY_BE_JSON.test(text) ? (parsedJson(text) ?? undefined) : undefined;

/** Writes JSON into a cell of the form `either`. */
export function eitherCell(text: string): string {
  if (!text.startsWith('"')) return text;
  const value = String(JSON.parse(text));
  return jsonIn(value) === undefined && JSON.stringify(value) === text ? text : JSON.stringify(text);
}

/** Reads a cell that is not empty. `text`: the JSON of a value stored raw. Throws a Problem, with pointers relative to the value. */
type ReadCell = (cell: string) => { readonly value: JsonValue; readonly text?: string; readonly keys?: number };

const readText: ReadCell = (cell) => {
  const [code, message] = textFault(cell, 'The string') ?? [];
  if (code === undefined || message === undefined) return { value: cell };
  throw faultyRequest('invalid-body', [{ pointer: '', code, message }]);
};

/** A cell that is not JSON stays a string, which the validator refuses. Spreadsheets write true and false in capitals. */
const scalarReader =
  (isInteger: boolean): ReadCell =>
  (cell) => {
    const value = jsonIn(/^\s*(?:true|false)\s*$/i.test(cell) ? cell.toLowerCase() : cell);
    if (value === undefined || typeof value === 'object') return readText(cell);
    if (isInteger && typeof value === 'number' && !isWhole(cell.trim())) return readText(cell);
    if (typeof value !== 'number' || Number.isFinite(value)) return { value };
    throw faultyRequest('invalid-body', [{ pointer: '', code: 'number-range', message: 'The number is too large' }]);
  };

function cellReader(type: RecordType, field: Field, limits: BodyLimits): ReadCell {
  const { takesInteger } = bodyReading(type);
  if (field.type.keepsText !== true)
    return cellForm(field) === 'text' ? readText : scalarReader(takesInteger([field.name]));
  return (cell) => {
    if (jsonIn(cell) === undefined) return { ...readText(cell), text: JSON.stringify(cell) };
    const { faults, ...kept } = readJson(cell, {
      limits,
      kept: 'text',
      what: `The value of "${field.name}"`,
      takesInteger: (path) => takesInteger([field.name, ...path]),
    });
    if (faults.length > 0) throw faultyRequest('invalid-body', faults);
    return kept;
  };
}

type CsvColumns = ReadonlyMap<string, ReadCell>;

function columnsOf(type: RecordType, limits: BodyLimits, rights: Rights): CsvColumns {
  const { identifier, fields, relations } = type;
  const readerOf = (one: IdentifierField): ReadCell => (cellForm(one) === 'text' ? readText : scalarReader(true));
  const columns = new Map<string, ReadCell>();
  if (identifier.inRecord) columns.set(identifier.name, readerOf(identifier));
  for (const field of fields.values()) columns.set(field.name, cellReader(type, field, limits));
  // The cell of a link holds the identifier of its record; the validator refuses anything else.
  const linkReader =
    (target: RecordType): ReadCell =>
    (cell) => {
      const link = { [target.identifier.name]: readerOf(target.identifier)(cell).value };
      return { value: identifierIn(link, target) === undefined ? cell : link };
    };
  for (const relation of relations.values()) {
    const { name, target, toMany } = relation;
    if (!toMany && target.identifier.inRecord) columns.set(name, linkReader(target));
    // Unique values name a record too: `owner.customer_no`.
    const keys = linkKeys(relation).filter(({ members }) => members.every((one) => seesMember(rights, target, one)));
    for (const one of toMany ? [] : keys.flatMap(({ members }) => members))
      columns.set(`${name}.${one.name}`, 'link' in one ? linkReader(one.target) : cellReader(target, one, limits));
  }
  return columns;
}

/** Codes of values that are no identifiers. */
const WRONG = new Set(['type', 'null', 'format', 'pattern', 'max-length', 'min-length']);

/** Moves faults inside links to their column, and calls null an empty cell. */
function inCells(fault: Fault, { relations }: RecordType, columns: readonly string[]): Fault {
  if (!('pointer' in fault)) return fault;
  const [index, own = '', key = ''] = unescapedSteps(fault.pointer);
  const name = columns.includes(`${own}.${key}`) ? `${own}.${key}` : own;
  const link = (name === own ? relations.get(own) : relations.get(own)?.target.relations.get(key))?.target;
  const plain =
    link && WRONG.has(fault.code)
      ? `"${name}" must be the ${link.identifier.name} of a record of ${link.name}: ${expectedOf(link.identifier)}`
      : fault.message;
  const isEmpty = fault.code === 'null' || (fault.code === 'required' && columns.includes(name));
  const message = isEmpty ? `An empty cell is null, but ${plain}` : plain;
  return { ...fault, message, pointer: link || name !== own ? `/${index}/${escapeStep(name)}` : fault.pointer };
}

// CSV tables. csv-parse needs a second for a megabyte of commas, and Papa Parse cannot distinguish "" from an empty cell.

const invalidCsv = (line: number, message: string, code = 'invalid-csv'): Problem =>
  faultyRequest('invalid-csv', [atLine({ pointer: '', code, message }, line)]);

interface CsvRow {
  readonly line: number;
  /** null: an empty unquoted cell. */
  readonly cells: readonly (string | null)[];
}

const PLAIN_END = /[",\r\n]|$/g;

const QUOTE_INSIDE = 'a quote stands inside a cell; put the whole cell in quotes, and write the quote twice';
const TEXT_AFTER = 'a closing quote is followed by other text; write a quote inside a cell twice';
const LONE_RETURN = 'a carriage return stands alone; end lines with CRLF or LF, and put cells with one in quotes';

/** Skips rows without values. Truncates a row of more than `most` cells, and stops after it. */
function* rowsOf(text: string, most: number): Generator<CsvRow, void> {
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const cells: (string | null)[] = [];
    const first = line;
    for (let hasMore = true; hasMore;) {
      const start = at;
      const isQuoted = text[start] === '"';
      if (isQuoted) {
        let end = text.indexOf('"', start + 1);
        while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
        if (end === -1) throw misplaced(line, 'the cell that begins here with a quote has no closing quote');
        const inside = text.slice(start + 1, end);
        line += inside.split('\n').length - 1;
        cells.push(inside.replaceAll('""', '"'));
        at = end + 1;
      } else {
        PLAIN_END.lastIndex = start;
        at = PLAIN_END.exec(text)?.index ?? text.length;
        cells.push(at === start ? null : text.slice(start, at));
      }
      if (cells.length > most) return yield { line: first, cells };
      hasMore = text[at] === ',';
      if (!hasMore && at < text.length) {
        if (text[at] === '\r' && text[at + 1] === '\n') at += 1;
        if (text[at] === '"') throw misplaced(line, QUOTE_INSIDE);
        if (text[at] !== '\n') throw misplaced(line, isQuoted ? TEXT_AFTER : LONE_RETURN);
        line += 1;
      }
      at += 1;
    }
    if (cells.some((cell) => cell !== null)) yield { line: first, cells };
  }
}

const misplaced = (line: number, what: string): Problem => invalidCsv(line, `The text is not valid CSV: ${what}`);

export function readCsv(text: string, asked: RecordType, limits: BodyLimits, rights: Rights): Body {
  const type = { ...asked, ...knownMembers(rights, asked) };
  const columns = columnsOf(type, limits, rights);
  const reader = new LineReader(batchLimits(type, limits));
  const most = columns.size + MAX_ERRORS;
  const rows = rowsOf(text, most);
  const head = rows.next();
  if (head.done === true) throw invalidCsv(1, `The body is empty; ${firstLine(columns)}`);
  const names = namesIn(head.value, type, columns);
  for (const { line, cells } of rows) {
    if (cells.length !== names.length) {
      const count = cells.length > most ? `more than ${most}` : cells.length;
      const message = `The number of cells is ${count}, but that of the columns in the first line is ${names.length}`;
      reader.refuse(line, 'invalid-csv', { pointer: '', code: 'invalid-csv', message });
      continue;
    }
    const body: Record<string, JsonValue> = {};
    const kept = new Map<string, RawMember>();
    for (const [index, name] of names.entries()) {
      const cell = cells[index] ?? null;
      const [own = name, key] = name.split('.');
      // Several columns can name one record, in any order.
      const before = body[own] ?? null;
      if (cell === null) body[own] = before;
      else
        reader.attempt(line, `/${escapeStep(name)}`, () => {
          const { value, text: json, keys = 0 } = columns.get(name)?.(cell) ?? { value: cell };
          const now = key === undefined ? value : { [key]: value };
          body[own] = before === null ? now : isObject(before) && isObject(now) ? { ...before, ...now } : cell;
          reader.keys += keys;
          if (json !== undefined) kept.set(name, { name: JSON.stringify(name), text: json });
        });
    }
    if (kept.size > 0) reader.raw.set(body as JsonObject, kept);
    reader.add(line, { body, tag: undefined });
  }
  return reader.body((fault) => inCells(fault, type, names));
}

const firstLine = (columns: CsvColumns): string =>
  `the first line must name the columns, such as ${[...columns.keys()].slice(0, 5).join(',')}`;

function namesIn({ line, cells }: CsvRow, type: RecordType, columns: CsvColumns): readonly string[] {
  const names = cells.map((cell) => cell ?? '');
  const [only = ''] = names;
  const separator = names.length === 1 && !columns.has(only) ? /[;\t|]/.exec(only)?.[0] : undefined;
  if (separator !== undefined) {
    const message = `The columns are separated by ${JSON.stringify(separator)}; CSV separates them by commas: choose the comma where the file is saved`;
    throw invalidCsv(line, message, 'separator');
  }
  const hint = names.some((name) => columns.has(name)) ? '' : `; ${firstLine(columns)}`;
  const faults = names.flatMap((name, index) => {
    const isRepeated = names.indexOf(name) < index;
    if (columns.has(name) && !isRepeated) return [];
    const message = isRepeated
      ? `The column "${shortened(name)}" is named twice`
      : unknownColumn(name, index, type, columns);
    return [atLine({ pointer: '', code: isRepeated ? 'repeated' : 'unknown-key', message: message + hint }, line)];
  });
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
  return names;
}

function unknownColumn(name: string, index: number, { relations, open }: RecordType, columns: CsvColumns): string {
  if (name === '') return `Column ${index + 1} has no name`;
  if (relations.has(name)) return `The column "${name}" is a relation that a cell cannot hold; send ${NDJSON_TYPE}`;
  const hint = open ? `; keys that no field names are not for CSV: send ${NDJSON_TYPE}` : '';
  const [own = '', key] = name.split('.');
  // The column of a link holds the identifier itself.
  const meant = relations.get(own)?.target.identifier.name === key ? own : name;
  return `Unknown column ${JSON.stringify(shortened(name))}${didYouMean(meant, columns.keys())}${hint}`;
}
