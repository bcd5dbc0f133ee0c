/** `import`: reads an export into an empty database. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { prepare } from '../storage/migrate/apply.ts';
import { headOf, importLines, LinesRefused } from '../storage/transfer/import.ts';
import { type CheckLine, type Faults, type Line, type LineText, readLines } from '../storage/transfer/lines.ts';
import { print } from '../terminal.ts';
import { BOOLEAN, type Command, readOptions } from './command.ts';
import { databaseFile, progressBar, withDatabase } from './transfer.ts';
import { escapeStep, type JsonObject } from '../json.ts';
import type { Model, RecordType } from '../model/model.ts';
import { type Fault, MAX_ERRORS, Problem } from '../problem.ts';
import type { RawMembers } from '../json/texts.ts';
import { type KeptMembers, readObject } from '../json/tokenizer.ts';
import { createLineValidator } from '../validation/line-validator.ts';
import { type NewFile, newFile, type OutputOptions } from '../files.ts';
import { shortened } from '../names.ts';

const USAGE =
  'records import FILE [--report FILE] [--force] [--unchecked]: reads a file of `records export` into an empty database; --report writes all faults as NDJSON, --force replaces an existing report, --unchecked also reads records that do not meet the checks of their type';

export const importRecords: Command = {
  usage: USAGE,
  run: async (args) => {
    const known = { report: { type: 'string' }, force: BOOLEAN, unchecked: BOOLEAN } as const;
    const { values, positionals } = readOptions(args, known, 1, USAGE);
    const [file] = positionals;
    if (file === undefined) throw new StartError(`The name of the file is missing\n${USAGE}`);
    await refuseForeign(file);
    const report = lineReport(values.report, { force: values.force ?? false, database: databaseFile() });
    try {
      const count = await imported(file, report, values.unchecked ?? false);
      report.finish();
      print(`Read ${count} lines from ${file}`);
      return 0;
    } catch (error) {
      if (!(error instanceof LinesRefused)) throw error;
      report.finish();
      throw new StartError(report.text(file), { cause: error });
    } finally {
      report.close();
    }
  },
};

/** The maximum length of a line, in body limits: a record can grow over several requests, but the values of a longer line might not fit into memory. */
const BODIES = 16;
/** The longest string that Node.js can decode, with a margin. */
const LONGEST = 256 * 1024 * 1024;

const linesOf = (file: string): AsyncGenerator<readonly LineText[]> =>
  readLines(file, Math.min(LONGEST, BODIES * readSettings(process.env).bodyLimit));

/** Checks the head of the file before a database is created for it. */
async function refuseForeign(file: string): Promise<void> {
  for await (const [index, text] of firstLines(file)) return void headOf(text, index + 1);
  throw new StartError(`${file} is empty. Nothing was changed.`);
}

async function* firstLines(file: string): AsyncGenerator<readonly [index: number, text: LineText]> {
  let before = 0;
  for await (const texts of linesOf(file)) {
    for (const [index, text] of texts.entries()) if (text !== '' && text !== '\r') yield [before + index, text];
    before += texts.length;
  }
}

const imported = (file: string, report: LineReport, isUnchecked: boolean): Promise<number> =>
  withDatabase((own, driver) =>
    driver.exclusively(async () => {
      const { model } = await prepare(own, driver);
      const progress = progressBar();
      return importLines(model, driver, {
        source: () => linesOf(file),
        check: lineChecker(model, isUnchecked),
        faults: report,
        progress,
      });
    }),
  );

// Checks one line of an export: its record, or all its faults.

/** Wider than the limits of a request: a record may come from another service, or have grown over several requests. */
const LIMITS = { bodyDepth: 1000, bodyKeys: Infinity, bodyItems: Infinity };

function lineChecker(model: Model, isUnchecked: boolean): CheckLine {
  const validate = createLineValidator(model, isUnchecked);
  const kept = new Map([...model.types.values()].map((type) => [type.name, keptBy(type)]));
  const names = new Set([...kept.values()].flatMap((some) => [...some]));
  const fields: KeptMembers = { of: (name) => (names.has(name) ? 'text' : undefined) };
  const members: KeptMembers = { of: (key) => (key === 'fields' ? fields : undefined) };
  return (line) => {
    const parsed = parse(line, 'The line', members);
    if ('faults' in parsed) return parsed;
    const { object, texts: found } = parsed;
    const faults = validate(object);
    const openFaults = faults.length === 0 ? faultsOfOpen(model, object) : [];
    if (faults.length + openFaults.length > 0) return { faults: [...faults, ...openFaults] };
    const own = kept.get(String(object['type']));
    const texts = new Map([...found].flatMap(([name, { text }]) => (own?.has(name) ? [[name, text] as const] : [])));
    // The validator has accepted it.
    return { line: { ...object, texts } as unknown as Line };
  };
}

const keptBy = ({ fields }: RecordType): ReadonlySet<string> =>
  new Set([...fields.values()].filter(({ type }) => type.keepsText).map(({ name }) => name));

type Parsed = { readonly object: JsonObject; readonly texts: RawMembers } | { readonly faults: readonly Fault[] };

/** The texts are those of the fields. */
function parse(text: string, what: string, kept?: KeptMembers): Parsed {
  try {
    const { object, raw, faults: found } = readObject(text, LIMITS, what, kept);
    // The validator reports numbers that are too large.
    const faults = found.filter(({ code }) => code !== 'number-range');
    const [texts = new Map()] = raw.values();
    return faults.length > 0 ? { faults } : { object, texts };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { faults: error.errors };
  }
}

/** Faults in the unknown keys of an open type, which a line holds as JSON text. */
function faultsOfOpen({ types }: Model, line: JsonObject): readonly Fault[] {
  const { type: name, open: text } = line;
  const type = types.get(String(name));
  if (typeof text !== 'string' || type === undefined) return [];
  const parsed = parse(text, 'The text');
  if ('faults' in parsed)
    return parsed.faults.map((fault) => ({ ...fault, pointer: `/open${'pointer' in fault ? fault.pointer : ''}` }));
  return Object.keys(parsed.object)
    .filter((key) => isNamed(type, key))
    .map((key) => ({
      pointer: `/open/${escapeStep(key)}`,
      code: 'known-key',
      message: `"${key}" is a field, a relation or the identifier, so it cannot be one of the unknown keys`,
    }));
}

const isNamed = ({ fields, relations, identifier }: RecordType, key: string): boolean =>
  fields.has(key) || relations.has(key) || (identifier.inRecord && identifier.name === key);

// Reports the faults of lines: the first ones as text, and all of them in a file if one is named.

interface LineReport extends Faults {
  /** The first faults, one per line, and a summary. */
  text(file: string): string;
  /** Gives the report file its final name. */
  finish(): void;
  /** Removes an unfinished report file. */
  close(): void;
}

/** Maximum characters of a pointer in the output. */
const MAX_POINTER = 200;
/** Characters buffered before a write. */
const PIECE = 64 * 1024;

interface Sink {
  write(text: string): void;
  restart(): void;
  finish(): void;
  close(): void;
}

interface LineFault {
  readonly line: number;
  readonly text: string;
}

/** Databases find the faults of a line sooner or later, but before this many others are found. */
const HELD = 10_000;

const byLine = (faults: readonly LineFault[]): LineFault[] => faults.toSorted((a, b) => a.line - b.line);

/** Without a file, the import ends after MAX_ERRORS faults. */
function lineReport(file: string | undefined, naming: OutputOptions): LineReport {
  const sink = file === undefined ? undefined : openSink(newFile(file, naming));
  let shown: LineFault[] = [];
  let held: LineFault[] = [];
  let count = 0;
  const release = (most: number): void => {
    held = byLine(held);
    for (const { text } of held.splice(0, most)) sink?.write(text);
  };
  return {
    get count() {
      return count;
    },
    get room() {
      return sink ? Infinity : MAX_ERRORS - count;
    },
    add: (line, fault) => {
      count += 1;
      if (shown.length < MAX_ERRORS) shown.push({ line, text: textOf(line, fault) });
      if (sink) held.push({ line, text: `${JSON.stringify({ line, ...fault })}\n` });
      if (held.length === 2 * HELD) release(HELD);
      if (!sink && count >= MAX_ERRORS) throw new LinesRefused();
    },
    restart: () => {
      [shown, held, count] = [[], [], 0];
      sink?.restart();
    },
    text: (from) => [...byLine(shown).map(({ text }) => text), summary(from, count, file)].join('\n'),
    finish: () => {
      release(held.length);
      sink?.finish();
    },
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
