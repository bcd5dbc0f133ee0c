/** The code blocks of a document. */
/** A fenced code block. `line` is 1-based, that of the opening fence. */
export interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

const FENCE = /^( *)(`{3,})(.*)\n([\s\S]*?)^\1\2 *$/gm;

export function readBlocks(markdown: string): readonly Block[] {
  return [...markdown.matchAll(FENCE)].map((match) => ({
    language: (match[3] ?? '').trim(),
    text: match[4] ?? '',
    line: markdown.slice(0, match.index).split('\n').length,
  }));
}
