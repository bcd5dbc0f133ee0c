/** Bodies in CSV: the first line names the columns, and each cell becomes a value as the type of its field says. */
import { escapeStep, type JsonObject, type JsonValue } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, faultyRequest, MAX_ERRORS, type Problem } from '../problem.ts';
import { compact, type RawMember } from '../json/texts.ts';
import { readJson, textFault } from '../json/tokenizer.ts';
import type { Body, BodyLimits } from '../operations/body.ts';
import { cellForm, CsvFault, type CsvRow, jsonIn, readCsv, scalarIn } from './csv.ts';
import { accept, atLine, attempt, bodyOf, noRecords, type ReadRecords } from './lines.ts';
import { NDJSON_TYPE } from '../operations/table.ts';

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

/** How the cells of each column are read is decided once for each type. */
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

// What a cell holds.

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

/** What is not JSON stays a text, which the validator refuses. */
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
