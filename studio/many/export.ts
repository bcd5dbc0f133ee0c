/** Everything that a list finds, as a file. */
import { textOfWhere, type Where } from '../data/list-request.ts';
import type { StudioModel, TypeInfo } from '../data/model.ts';
import { openResponse } from '../data/request.ts';
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
}

/** `columns`: undefined for everything that records show. */
export function exportTarget(model: StudioModel, found: Found, columns: readonly string[] | undefined): string {
  const { type, where, sort, variant } = found;
  const parameters: [string, string][] = [...where].map(([name, value]) => [name, value]);
  if (columns) parameters.unshift(['fields', columns.map((column) => shownAs(model, type, column)).join(',')]);
  if (sort?.field) parameters.push(['_cnd[orderBy]', sort.field], ['_cnd[orderBy]', sort.order.toLowerCase()]);
  if (variant !== undefined) parameters.push(['variant', variant]);
  return `${type.path}?${textOfWhere(parameters)}`;
}

/** Tables have the identifiers of related records. */
function shownAs({ types }: StudioModel, { relations }: TypeInfo, column: string): string {
  const relation = relations.find(({ name }) => name === column);
  const target = relation && types.get(relation.type);
  return target ? `${column}.${target.identifier.name}` : column;
}

export interface Progress {
  readonly done: number;
  /** Unknown if the service does not count. */
  readonly total: number | undefined;
}

interface Exporting {
  readonly target: string;
  readonly format: Format;
  /** Whether spreadsheets must not run any cell. */
  readonly isGuarded: boolean;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/** Where something is read piece by piece, the browser keeps the pieces: on disk, if they are many. */
export async function exportRecords({ target, format, isGuarded, onProgress, signal }: Exporting): Promise<Blob> {
  const { mediaType } = FORMATS[format];
  const response = await openResponse({ method: 'GET', target, headers: { Accept: mediaType } }, signal);
  const count = response.headers.get('X-Total-Count');
  const total = count === null ? undefined : Number(count);
  const table = format === 'csv' ? createTableReader(isGuarded) : undefined;
  let done = 0;
  const pieces: Blob[] = [];
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    pieces.push(new Blob([table?.push(read.value) ?? read.value]));
    // The first line of a table names its columns; JSON has no line breaks within a line.
    done = table ? Math.max(0, table.lines - 1) : done + read.value.split('\n').length - 1;
    onProgress({ done, total });
  }
  pieces.push(new Blob([table?.end() ?? '']));
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
