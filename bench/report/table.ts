/** Rows of text as a Markdown table with aligned columns: the first to the left, the others, which hold figures, to the right. */
export type Cells = readonly string[];

export function table(header: Cells, rows: readonly Cells[]): string {
  const widths = header.map((_, column) =>
    Math.max(3, ...[header, ...rows].map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: Cells): string =>
    `| ${cells.map((cell, column) => aligned(cell, column, widths[column] ?? 0)).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}

const aligned = (cell: string, column: number, width: number): string =>
  column === 0 ? cell.padEnd(width) : cell.padStart(width);

/** Three digits that count; whole numbers above a hundred. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '-';
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(value < 0.995 ? 2 : 3);
}
