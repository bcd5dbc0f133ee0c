/** `export` writes all records as NDJSON; `import` reads them into an empty database. */
import { createWriteStream, statSync, writeFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isOfSystem, type NewFile, newFile } from '../files.ts';
import { escapeStep, type JsonObject } from '../json/json.ts';
import { type KeptMembers, type RawMembers, readObject, WIDE } from '../json/tokenizer.ts';
import { hasMember, type Model, type RecordType } from '../model/model.ts';
import { shortened } from '../names.ts';
import { type Fault, MAX_ERRORS, Problem, reasonOf, StartError } from '../problem.ts';
import { print, printError } from '../process.ts';
import type { Settings } from '../settings/settings.ts';
import type { Driver } from '../storage/driver.ts';
import { planFor, prepare } from '../storage/migrate/apply.ts';
import { type CheckLine, exportLines, type Line, type LineText, readLines } from '../storage/transfer/export.ts';
import { headOf, importLines, type LineFault, LinesRefused } from '../storage/transfer/import.ts';
import { createLineValidator } from '../validation/line-validator.ts';
import { BOOLEAN, command, createProgress, databaseFile, STRING, withDatabase } from './command.ts';

export const exportRecords = command(
  'records export FILE [--force]: writes all records of the database as NDJSON; --force replaces an existing file; FILE may be a pipe, or - for standard output',
  { force: BOOLEAN },
  ['FILE'],
  async ({ force = false }, [name], settings) => {
    const exportTo = (open: () => Writable) =>
      withDatabase(settings, async (model, driver) => write(await requireApplied(model, driver), driver, open(), name));
    if (isPipe(name)) {
      const count = await exportTo(() => (STANDARD_OUTPUT.has(name) ? process.stdout : createWriteStream(name)));
      printError(`Wrote ${count} lines`);
      return 0;
    }
    const file = newFile(name, { force, database: databaseFile(settings) });
    try {
      const count = await exportTo(() => createWriteStream(file.partial, { flags: 'r+' }));
      file.finish();
      print(`Wrote ${count} lines to ${name}`);
    } finally {
      file.discard();
    }
    return 0;
  },
);

const STANDARD_OUTPUT: ReadonlySet<string> = new Set(['-', '/dev/stdout', '/dev/fd/1']);

/** Pipes and devices have no content to protect, and cannot be renamed once they are complete. */
function isPipe(name: string): boolean {
  const found = statSync(name, { throwIfNoEntry: false });
  return STANDARD_OUTPUT.has(name) || found?.isFIFO() === true || found?.isCharacterDevice() === true;
}

async function requireApplied(own: Model, driver: Driver): Promise<Model> {
  const { steps, kept, model } = await planFor(own, driver);
  if (steps.length + kept.length > 0)
    throw new StartError(
      'The tables do not match the descriptors; see `records plan`. What no descriptor names would be missing from the export. Nothing was written.',
    );
  return model;
}

async function write(model: Model, driver: Driver, out: Writable, name: string): Promise<number> {
  let [done, all] = [-1, 0];
  const progress = createProgress();
  async function* lines(): AsyncGenerator<string> {
    for await (const line of exportLines(model, driver)) {
      if (typeof line === 'object') all = line.lines;
      progress((done += 1), all);
      yield `${typeof line === 'object' ? JSON.stringify(line) : line}\n`;
    }
  }
  await pipeline(lines, out, { end: out !== process.stdout }).catch((error: unknown) => {
    throw isOfSystem(error) ? new StartError(`${name} cannot be written: ${reasonOf(error)}`, { cause: error }) : error;
  });
  return done;
}

export const importRecords = command(
  'records import FILE [--report FILE] [--force] [--unchecked]: reads a file of `records export`, no pipe, into an empty database; --report writes all faults as NDJSON, --force replaces an existing report, --unchecked also reads records that do not meet the checks of their type',
  { report: STRING, force: BOOLEAN, unchecked: BOOLEAN },
  ['FILE'],
  async ({ report: reportFile, force = false, unchecked = false }, [file], settings) => {
    if (isPipe(file))
      throw new StartError(`${file} is a pipe. An import reads it twice: make a file of it. Nothing was changed.`);
    await refuseForeign(file, settings);
    const output =
      reportFile === undefined ? undefined : newFile(reportFile, { force, database: databaseFile(settings) });
    const mostFaults = output === undefined ? MAX_ERRORS : MOST_REPORTED;
    try {
      const count = await imported(file, settings, mostFaults, unchecked);
      writeReport(output, []);
      print(`Read ${count} lines from ${file}`);
      return 0;
    } catch (error) {
      if (!(error instanceof LinesRefused)) throw error;
      // The database reports faults later than the validator.
      const faults = error.faults.toSorted((a, b) => a.line - b.line);
      writeReport(output, faults);
      const rest = faults.length < mostFaults ? '' : '; the rest was not read';
      const where =
        output === undefined
          ? rest && `${rest}, --report FILE writes all faults`
          : `, all of them in ${reportFile}${rest}`;
      const count = `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`;
      const lines = [...faults.slice(0, MAX_ERRORS).map(textOf), `${file}: ${count}${where}. Nothing was changed.`];
      throw new StartError(lines.join('\n'), { cause: error });
    } finally {
      output?.discard();
    }
  },
);

/** Each fault occupies memory until the import ends. */
const MOST_REPORTED = 100_000;
const MAX_POINTER = 200;

function textOf({ line, fault }: LineFault): string {
  const pointer = 'pointer' in fault && fault.pointer !== '' ? ` ${shortened(fault.pointer, MAX_POINTER)}` : '';
  return `Line ${line}${pointer}: ${fault.message}`;
}

function writeReport(file: NewFile | undefined, faults: readonly LineFault[]): void {
  if (file === undefined) return;
  writeFileSync(file.partial, faults.map(({ line, fault }) => `${JSON.stringify({ line, ...fault })}\n`).join(''));
  file.finish();
}

/** The longest line as a multiple of BODY_LIMIT: a record can grow over several requests. */
const BODIES = 16;
/** Node.js cannot decode much longer strings. */
const LONGEST = 256 * 1024 * 1024;

const linesOf = (file: string, { bodyLimit }: Settings): AsyncGenerator<readonly LineText[]> =>
  readLines(file, Math.min(LONGEST, BODIES * bodyLimit));

/** Checks the head before the engine creates a database. */
async function refuseForeign(file: string, settings: Settings): Promise<void> {
  let before = 0;
  for await (const texts of linesOf(file, settings)) {
    const index = texts.findIndex((text) => text !== '' && text !== '\r');
    if (index >= 0) return void headOf(texts[index] ?? '', before + index + 1);
    before += texts.length;
  }
  throw new StartError(`${file} is empty. Nothing was changed.`);
}

const imported = (file: string, settings: Settings, mostFaults: number, isUnchecked: boolean): Promise<number> =>
  withDatabase(settings, (own, driver) =>
    driver.exclusively(async () => {
      const { model } = await prepare(own, driver, { seeds: false });
      return importLines(model, driver, {
        source: () => linesOf(file, settings),
        check: lineChecker(model, isUnchecked),
        progress: createProgress(),
        mostFaults,
      });
    }),
  );

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
    return { line: { ...object, texts } as unknown as Line };
  };
}

const keptBy = ({ fields }: RecordType): ReadonlySet<string> =>
  new Set([...fields.values()].filter(({ type }) => type.keepsText).map(({ name }) => name));

type Parsed = { readonly object: JsonObject; readonly texts: RawMembers } | { readonly faults: readonly Fault[] };

function parse(text: string, what: string, kept?: KeptMembers): Parsed {
  try {
    const { object, raw, faults: found } = readObject(text, { ...WIDE, what, kept });
    // The validator reports numbers that are too large.
    const faults = found.filter(({ code }) => code !== 'number-range');
    const [texts = new Map()] = raw.values();
    return faults.length > 0 ? { faults } : { object, texts };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { faults: error.errors };
  }
}

/** A line holds an open type's unknown keys as a JSON string. */
function faultsOfOpen({ types }: Model, line: JsonObject): readonly Fault[] {
  const { type: name, open: text } = line;
  const type = types.get(String(name));
  if (typeof text !== 'string' || type === undefined) return [];
  const parsed = parse(text, 'The text');
  if ('faults' in parsed)
    return parsed.faults.map((fault) => ({ ...fault, pointer: `/open${'pointer' in fault ? fault.pointer : ''}` }));
  return Object.keys(parsed.object)
    .filter((key) => hasMember(type, key))
    .map((key) => ({
      pointer: `/open/${escapeStep(key)}`,
      code: 'known-key',
      message: `"${key}" is a field, a relation or the identifier, so it cannot be one of the unknown keys`,
    }));
}
