/** The parts of a document that tests compare with the code: sections, tables, lists. */

/** What stands under a heading, up to the next one of the same level or above. */
export function section(markdown: string, heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const lines = markdown.split('\n');
  let isCode = false;
  const inCode = lines.map((line) => {
    if (line.startsWith('```')) isCode = !isCode;
    return isCode;
  });
  const start = lines.indexOf(heading);
  if (start === -1) throw new Error(`no heading "${heading}"`);
  const end = lines.findIndex((line, index) => index > start && !inCode[index] && isHeading(line, level));
  return lines.slice(start + 1, end === -1 ? undefined : end).join('\n');
}

const isHeading = (line: string, level: number): boolean => {
  const found = /^(#+) /.exec(line)?.[1]?.length;
  return found !== undefined && found <= level;
};

/** The rows of the tables whose first cell is code, with this code as `name`. */
export function codeRows(markdown: string): readonly { readonly name: string; readonly cells: readonly string[] }[] {
  return markdown.split('\n').flatMap((line) => {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    const name = /^`([^`]+)`/.exec(cells[0] ?? '')?.[1];
    return name === undefined ? [] : [{ name, cells }];
  });
}

/** The code at the beginning of list items: both names of "- `a`, `b`: text". */
export function codeItems(markdown: string): readonly string[] {
  const starts = [...markdown.matchAll(/^- ((?:`[^`]+`(?:, )?)+):/gm)].map((match) => match[1] ?? '');
  return starts.flatMap((start) => [...start.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''));
}
