/** Rows of text in columns. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const width = (column: number): number => Math.max(...rows.map((row) => [...(row[column] ?? '')].length));
  const widths = (rows[0] ?? []).map((_, column) => width(column));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
