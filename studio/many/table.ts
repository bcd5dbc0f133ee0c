/** Tables as files: what Excel writes and reads, and CSV as it saves it. The libraries are loaded with the first file. */
import { NumberText } from '../data/json.ts';

/** A number keeps its digits. */
export type Cell = string | NumberText | boolean | Date | null;

export interface Table {
  readonly head: readonly string[];
  /** `line`: as a spreadsheet numbers it. */
  readonly rows: readonly { readonly line: number; readonly cells: readonly Cell[] }[];
}

/** Spreadsheets keep 15 digits: those behind them come from how a computer writes a number. */
const asTyped = (text: string): NumberText =>
  new NumberText(text.replace(/\D/g, '').length > 15 ? String(Number(Number(text).toPrecision(15))) : text);

const isXlsx = (name: string): boolean => /\.xlsx$/i.test(name);

/** CSV is in UTF-8, or as Excel saves it where nobody asks for that. */
function decoded(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

export async function readTable(name: string, bytes: ArrayBuffer): Promise<Table> {
  const [head = [], ...rows] = isXlsx(name) ? await readXlsx(bytes) : await readCsv(decoded(bytes));
  return {
    head: head.map((cell) => (cell instanceof NumberText ? cell.text : String(cell ?? '')).trim()),
    rows: rows
      .map((cells, index) => ({ line: index + 2, cells }))
      .filter(({ cells }) => cells.some((cell) => cell !== null && cell !== '')),
  };
}

async function readXlsx(bytes: ArrayBuffer): Promise<readonly (readonly Cell[])[]> {
  const { readSheet } = await import('read-excel-file/universal');
  const rows = await readSheet<NumberText>(new Blob([bytes]), { parseNumber: asTyped, trim: false });
  return rows as readonly (readonly Cell[])[];
}

const DELIMITERS = [',', ';', '\t', '|'];

/** The separator that divides the heads: those of the rows may be decimal marks. */
async function readCsv(file: string): Promise<readonly (readonly string[])[]> {
  const { parse } = (await import('papaparse')).default;
  const text = file.replace(/^\uFEFF/, '');
  const headsBy = (delimiter: string): number => parse<string[]>(text, { delimiter, preview: 1 }).data[0]?.length ?? 0;
  const [delimiter = ','] = DELIMITERS.toSorted((one, other) => headsBy(other) - headsBy(one));
  return parse<string[]>(text, { delimiter }).data;
}

/** A spreadsheet would run what begins so; numbers are none of it. */
const FORMULA = /^(?:[=@\t\r]|[-+](?![\d.,]+$))/;

/** The byte order mark makes Excel read UTF-8; a language with a decimal comma has another separator. */
export async function writeCsv(rows: readonly (readonly string[])[], hasComma: boolean): Promise<Blob> {
  const { unparse } = (await import('papaparse')).default;
  const delimiter = hasComma ? ';' : ',';
  const text = unparse(rows as string[][], { delimiter, escapeFormulae: FORMULA });
  return new Blob(['\uFEFF', text, '\r\n'], { type: 'text/csv' });
}

export async function writeXlsx(rows: readonly (readonly Cell[])[], sheet: string): Promise<Blob> {
  const { default: write } = await import('write-excel-file/universal');
  const cells = rows.map((row, index) =>
    row.map((cell) => {
      if (cell === null || cell === '') return null;
      if (cell instanceof NumberText) return { value: Number(cell.text), type: Number };
      if (cell instanceof Date) {
        const isDay = cell.getTime() % 86_400_000 === 0;
        return { value: cell, type: Date, format: isDay ? 'yyyy-mm-dd' : 'yyyy-mm-dd hh:mm:ss' };
      }
      if (typeof cell === 'boolean') return { value: cell, type: Boolean };
      return { value: cell, type: String, ...(index === 0 ? { fontWeight: 'bold' as const } : {}) };
    }),
  );
  return await write(cells, { sheet: sheet.replaceAll(/[[\]\\/*?:]/g, ' ').slice(0, 31) }).toBlob();
}
