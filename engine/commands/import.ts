/** `import`: the records of an export, into a database that has none. */
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { prepare } from '../storage/prepare.ts';
import { headOf, importLines, LinesRefused } from '../storage/transfer/import.ts';
import { type LineText, readLines } from '../storage/transfer/read-lines.ts';
import { print } from '../terminal.ts';
import { lineChecker } from './check-line.ts';
import type { Command } from './command.ts';
import { type LineReport, lineReport } from './line-report.ts';
import { readOptions } from './options.ts';
import { databaseFile, progressBar, withDatabase } from './transfer.ts';

const USAGE =
  'records import FILE [--report FILE] [--force]: reads the records that `records export` wrote, into an empty database; --report writes all faults as NDJSON, --force over a report that is there';

export const importRecords: Command = {
  run: async (args) => {
    const known = { report: { type: 'string' }, force: { type: 'boolean' } } as const;
    const { values, positionals } = readOptions(args, known, 1, USAGE);
    const [file] = positionals;
    if (file === undefined) throw new StartError(`The name of the file is missing\n${USAGE}`);
    await refuseForeign(file);
    const report = lineReport(values.report, { force: values.force ?? false, database: databaseFile() });
    try {
      const count = await imported(file, report);
      report.finish();
      print(`${count} lines read from ${file}`);
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

/** A record can grow over several requests. Of a longer line, the parsed values could fill the memory. */
const BODIES = 16;
/** What Node.js can turn into one text. */
const LONGEST = 256 * 1024 * 1024;

const linesOf = (file: string): AsyncGenerator<readonly LineText[]> =>
  readLines(file, Math.min(LONGEST, BODIES * readSettings(process.env).bodyLimit));

/** Before a database is made for it. */
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

const imported = (file: string, report: LineReport): Promise<number> =>
  withDatabase((model, driver) =>
    driver.exclusively(async () => {
      await prepare(model, driver);
      const progress = progressBar();
      return importLines(model, driver, {
        source: () => linesOf(file),
        check: lineChecker(model),
        faults: report,
        progress,
      });
    }),
  );
