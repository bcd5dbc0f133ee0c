/** Everything that a list finds, as a file. */
import { isValueObject, NumberText, parseJson, textOf, type ValueObject } from '../data/json.ts';
import { shownColumns } from '../data/list-request.ts';
import { nameOf, type StudioModel, type TypeInfo, typeNamed, withIdentifiers } from '../data/model.ts';
import { orderOf, sortKeys } from '../data/sort.ts';
import { textOfWhere, type Where } from '../data/where.ts';
import { type ColumnInfo, columnsOf } from '../lists/columns.ts';
import { decimalMark } from '../presentations/numbers.ts';
import type { Say } from '../texts/texts.ts';
import { cellOf, csvText } from './cells.ts';
import { inParts, type Progress, readLines } from './chosen.ts';
import { type Cell, writeCsv, writeXlsx } from './table.ts';

export const FORMATS = ['xlsx', 'csv'] as const;
export type Format = (typeof FORMATS)[number];

export interface Found {
  readonly type: TypeInfo;
  readonly where: Where;
  readonly sort: { readonly field: string; readonly order: string } | undefined;
  readonly variant: string | undefined;
  /** The selected records; undefined for all. */
  readonly ids?: readonly string[];
}

/** Values of one filter. */
const MOST = 100;

/** The requests whose answers make the file. */
export const exportTargets = (found: Found, columns: readonly string[]): readonly string[] =>
  found.ids === undefined
    ? [exportTarget(found, columns)]
    : inParts(found.ids, MOST).map((ids) =>
        exportTarget({ ...found, where: withIdentifiers(found.type, ids) }, columns),
      );

function exportTarget({ type, where, sort, variant }: Found, columns: readonly string[]): string {
  const parameters = [...shownColumns(type, columns), ...where];
  if (sort?.field) parameters.push(['_cnd[orderBy]', orderOf(type, sortKeys(sort))]);
  if (variant !== undefined) parameters.push(['variant', variant]);
  return `${type.path}?${textOfWhere(parameters)}`;
}

/** The columns of a table: those of the list, or everything that fits into cells. */
export const tableColumns = (type: TypeInfo, columns: readonly string[] | undefined): readonly ColumnInfo[] => {
  const all = columnsOf(type);
  return columns === undefined ? all : columns.flatMap((name) => all.find((column) => column.name === name) ?? []);
};

interface Exporting {
  readonly targets: readonly string[];
  /** If it is known. */
  readonly count: number | undefined;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

async function readAll(
  { targets, count, onProgress, signal }: Exporting,
  onLine: (line: string) => void,
): Promise<void> {
  let done = 0;
  for (const target of targets)
    await readLines(target, signal, (lines, total) => {
      for (const line of lines) onLine(line);
      onProgress({ done: (done += lines.length), total: count ?? total });
    });
}

/** With titles, the labels of related records, and values as the language writes them. */
export async function exportTable(
  exporting: Exporting,
  { type, columns, format, say, language, model }: TableWanted,
): Promise<Blob> {
  const rows: (readonly Cell[])[] = [columns.map(({ title }) => title)];
  await readAll(exporting, (line) => {
    const values = parseJson(line);
    if (isValueObject(values)) rows.push(columns.map((column) => cellIn(say, model, column, values)));
  });
  if (format === 'xlsx') return writeXlsx(rows, type.title.many);
  const texts = rows.map((row) => row.map((cell) => csvText(say, cell, language)));
  return writeCsv(texts, decimalMark(language) === ',');
}

interface TableWanted {
  readonly model: StudioModel;
  readonly type: TypeInfo;
  readonly columns: readonly ColumnInfo[];
  readonly format: Format;
  readonly say: Say;
  readonly language: string;
}

function cellIn(say: Say, model: StudioModel, column: ColumnInfo, values: ValueObject): Cell {
  const value = values[column.name];
  if (column.kind === 'field') return cellOf(say, column.field, value);
  if (column.kind === 'identifier')
    return value === null || value === undefined ? null : value instanceof NumberText ? value : textOf(value);
  return isValueObject(value) ? nameOf(typeNamed(model, column.relation.type), value, column.relation.label) : null;
}

export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to save by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
