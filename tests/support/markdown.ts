/** The sections of a document. */

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
