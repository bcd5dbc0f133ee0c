/** The examples of a document: its code blocks, and its curl requests with the answers that stand below them. */
import { type CurlRequest, parseCurl } from './curl.ts';
import { shellCommands } from './shell.ts';

/** A fenced code block. `line` is 1-based, that of the opening fence. */
export interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

/** One curl command. `answer` is the JSON that the document shows, undefined where it shows none. */
export interface Example {
  /** `docs/page.md:12 POST /api/gift-cards`: the title of its test. */
  readonly title: string;
  readonly request: CurlRequest;
  readonly answer: unknown;
}

const FENCE = /^( *)(`{3,})(.*)\n([\s\S]*?)^\1\2 *$/gm;

export function readBlocks(markdown: string): readonly Block[] {
  return [...markdown.matchAll(FENCE)].map((match) => ({
    language: (match[3] ?? '').trim(),
    text: match[4] ?? '',
    line: markdown.slice(0, match.index).split('\n').length,
  }));
}

/** Every curl command of every `sh` block; a `json` block right after it holds the answer to its last command. */
export function readExamples(markdown: string, file: string): readonly Example[] {
  const blocks = readBlocks(markdown);
  return blocks.flatMap((block, index) => {
    if (block.language !== 'sh') return [];
    const commands = shellCommands(block.text).filter(([program]) => program === 'curl');
    const next = blocks[index + 1];
    const answer: unknown = next?.language === 'json' ? JSON.parse(next.text) : undefined;
    return commands.map((words, at) => {
      const request = parseCurl(words.slice(1));
      const title = `${file}:${block.line} ${request.method} ${request.path}`;
      return { title, request, answer: at === commands.length - 1 ? answer : undefined };
    });
  });
}

export interface Replayed {
  readonly status: number;
  /** Parsed where it is JSON, otherwise text; undefined where it is empty. */
  readonly body: unknown;
}

export async function replay(url: string, { request }: Example): Promise<Replayed> {
  const { method, path, headers, body } = request;
  const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, body: text === '' ? undefined : isJson ? JSON.parse(text) : text };
}
