/** Everything that a list finds, as a file. */
import { textOfWhere, type Where } from '../data/where.ts';
import type { StudioModel, TypeInfo } from '../data/model.ts';
import { orderOf, sortKeys } from '../data/sort.ts';
import { openResponse } from '../data/request.ts';
import { inParts, patiently, type Progress } from './chosen.ts';
import { createTableReader } from './csv.ts';

export const FORMATS = {
  csv: { mediaType: 'text/csv', extension: 'csv' },
  ndjson: { mediaType: 'application/x-ndjson', extension: 'ndjson' },
} as const;
export type Format = keyof typeof FORMATS;

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

/** The requests whose answers make the file. `columns`: undefined for everything that records show. */
export const exportTargets = (
  model: StudioModel,
  found: Found,
  columns: readonly string[] | undefined,
): readonly string[] =>
  found.ids === undefined
    ? [exportTarget(model, found, columns)]
    : inParts(found.ids, MOST).map((ids) =>
        exportTarget(model, { ...found, where: [[`_cnd[${found.type.identifier.name}][in]`, ids.join(',')]] }, columns),
      );

function exportTarget(model: StudioModel, found: Found, columns: readonly string[] | undefined): string {
  const { type, where, sort, variant } = found;
  const parameters: [string, string][] = [...where].map(([name, value]) => [name, value]);
  if (columns) parameters.unshift(['fields', columns.map((column) => shownAs(model, type, column)).join(',')]);
  if (sort?.field) parameters.push(['_cnd[orderBy]', orderOf(type, sortKeys(sort))]);
  if (variant !== undefined) parameters.push(['variant', variant]);
  return `${type.path}?${textOfWhere(parameters)}`;
}

/** Tables have the identifiers of related records. */
function shownAs({ types }: StudioModel, { relations }: TypeInfo, column: string): string {
  const relation = relations.find(({ name }) => name === column);
  const target = relation && types.get(relation.type);
  return target ? `${column}.${target.identifier.name}` : column;
}

interface Exporting {
  readonly targets: readonly string[];
  /** If it is known. */
  readonly count: number | undefined;
  readonly format: Format;
  /** Whether spreadsheets must not run any cell. */
  readonly isGuarded: boolean;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/** The browser keeps the pieces of an export, on disk if they are many. */
export async function exportRecords(exporting: Exporting): Promise<Blob> {
  const { targets, format, isGuarded, count, onProgress, signal } = exporting;
  const { mediaType } = FORMATS[format];
  const pieces: Blob[] = [];
  let done = 0;
  for (const [index, target] of targets.entries()) {
    const headers = { Accept: mediaType };
    const response = await patiently(() => openResponse({ method: 'GET', target, headers }, signal), signal);
    const counted = response.headers.get('X-Total-Count');
    const total = count ?? (counted === null ? undefined : Number(counted));
    const table = format === 'csv' ? createTableReader(isGuarded) : undefined;
    const before = done;
    // The first line of a table names its columns, once.
    let isHead = format === 'csv' && index > 0;
    const keep = (text: string): void => {
      const end = isHead ? text.indexOf('\n') + 1 : 0;
      if (end > 0) isHead = false;
      if (!isHead) pieces.push(new Blob([text.slice(end)]));
    };
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      keep(table?.push(read.value) ?? read.value);
      // JSON has no line breaks within a line.
      done = table ? before + Math.max(0, table.lines - 1) : done + read.value.split('\n').length - 1;
      onProgress({ done, total });
    }
    keep(table?.end() ?? '');
  }
  return new Blob(pieces, { type: mediaType });
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
