/** `import`: reads an export into an empty database. */
import { writeFileSync } from 'node:fs';
import type { Settings } from '../settings/settings.ts';
import { StartError } from '../start-error.ts';
import { prepare } from '../storage/migrate/apply.ts';
import { headOf, importLines, LinesRefused } from '../storage/transfer/import.ts';
import { type CheckLine, type Faults, type Line, type LineText, readLines } from '../storage/transfer/lines.ts';
import { print } from '../terminal.ts';
import { BOOLEAN, command, databaseFile, progressBar, STRING, withDatabase } from './command.ts';
import { escapeStep, type JsonObject } from '../json.ts';
import type { Model, RecordType } from '../model/model.ts';
import { type Fault, MAX_ERRORS, Problem } from '../problem.ts';
import type { RawMembers } from '../json/texts.ts';
import { type KeptMembers, readObject } from '../json/tokenizer.ts';
import { createLineValidator } from '../validation/line-validator.ts';
import { type NewFile, newFile } from '../files.ts';
import { shortened } from '../names.ts';

const USAGE =
  'records import FILE [--report FILE] [--force] [--unchecked]: reads a file of `records export` into an empty database; --report writes all faults as NDJSON, --force replaces an existing report, --unchecked also reads records that do not meet the checks of their type';

export const importRecords = command(
  USAGE,
  { report: STRING, force: BOOLEAN, unchecked: BOOLEAN },
  1,
  async ({ report: reportFile, force = false, unchecked = false }, [file], settings) => {
    if (file === undefined) throw new StartError(`The name of the file is missing\n${USAGE}`);
    await refuseForeign(file, settings);
    const output =
      reportFile === undefined ? undefined : newFile(reportFile, { force, database: databaseFile(settings) });
    const report = new LineReport(output === undefined ? MAX_ERRORS : MOST_REPORTED);
    try {
      const count = await imported(file, settings, report, unchecked);
      report.write(output);
      print(`Read ${count} lines from ${file}`);
      return 0;
    } catch (error) {
      if (!(error instanceof LinesRefused)) throw error;
      report.write(output);
      throw new StartError(report.text(file, reportFile), { cause: error });
    } finally {
      output?.discard();
    }
  },
);

/** The maximum length of a line, in body limits: a record can grow over several requests, but the values of a longer line might not fit into memory. */
const BODIES = 16;
/** The longest string that Node.js can decode, with a margin. */
const LONGEST = 256 * 1024 * 1024;

const linesOf = (file: string, { bodyLimit }: Settings): AsyncGenerator<readonly LineText[]> =>
  readLines(file, Math.min(LONGEST, BODIES * bodyLimit));

/** Checks the head of the file before a database is created for it. */
async function refuseForeign(file: string, settings: Settings): Promise<void> {
  for await (const [index, text] of firstLines(file, settings)) return void headOf(text, index + 1);
  throw new StartError(`${file} is empty. Nothing was changed.`);
}

async function* firstLines(file: string, settings: Settings): AsyncGenerator<readonly [index: number, text: LineText]> {
  let before = 0;
  for await (const texts of linesOf(file, settings)) {
    for (const [index, text] of texts.entries()) if (text !== '' && text !== '\r') yield [before + index, text];
    before += texts.length;
  }
}

const imported = (file: string, settings: Settings, report: LineReport, isUnchecked: boolean): Promise<number> =>
  withDatabase(settings, (own, driver) =>
    driver.exclusively(async () => {
      const { model } = await prepare(own, driver);
      const progress = progressBar();
      return importLines(model, driver, {
        source: () => linesOf(file, settings),
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

/** Maximum characters of a pointer in the output. */
const MAX_POINTER = 200;
/** Faults in a report: each takes memory until the import ends. */
const MOST_REPORTED = 100_000;

interface LineFault {
  readonly line: number;
  readonly fault: Fault;
}

/** The import ends after `most` faults. */
class LineReport implements Faults {
  readonly #most: number;
  #faults: LineFault[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#faults.length;
  }

  get room(): number {
    return this.#most - this.count;
  }

  readonly add = (line: number, fault: Fault): void => {
    this.#faults.push({ line, fault });
    if (this.room <= 0) throw new LinesRefused();
  };

  restart(): void {
    this.#faults = [];
  }

  /** Databases find the faults of a line sooner or later. */
  #sorted(): readonly LineFault[] {
    return this.#faults.toSorted((a, b) => a.line - b.line);
  }

  /** Writes all faults, a line of JSON each. */
  write(file: NewFile | undefined): void {
    if (file === undefined) return;
    const lines = this.#sorted().map(({ line, fault }) => `${JSON.stringify({ line, ...fault })}\n`);
    writeFileSync(file.partial, lines.join(''));
    file.finish();
  }

  /** The first faults, one per line, and a summary. */
  text(from: string, report: string | undefined): string {
    const shown = this.#sorted().slice(0, MAX_ERRORS);
    const faults = `${this.count} ${this.count === 1 ? 'fault' : 'faults'}`;
    const rest = this.room > 0 ? '' : '; the rest was not read';
    const where =
      report === undefined ? rest && `${rest}, --report FILE writes all faults` : `, all of them in ${report}${rest}`;
    return [
      ...shown.map(({ line, fault }) => textOf(line, fault)),
      `${from}: ${faults}${where}. Nothing was changed.`,
    ].join('\n');
  }
}

function textOf(line: number, fault: Fault): string {
  const place = 'pointer' in fault && fault.pointer !== '' ? ` ${shortened(fault.pointer, MAX_POINTER)}` : '';
  return `Line ${line}${place}: ${fault.message}`;
}
