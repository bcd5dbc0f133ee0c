/** The Markdown that the project's own documents use -> HTML: headings, paragraphs, lists, tables, code. */
import { escaped, type Html } from './layout.ts';

interface BlockKind {
  /** One block from the start of the text. */
  readonly pattern: RegExp;
  readonly render: (match: RegExpExecArray) => string;
}

const KINDS: readonly BlockKind[] = [
  { pattern: /^```\w*\n([\s\S]*?)^```\n/m, render: ([, code = '']) => `<pre><code>${escaped(code)}</code></pre>` },
  { pattern: /^(#{1,4}) (.+)\n/, render: ([, marks = '', text = '']) => heading(marks.length, text) },
  { pattern: /^(?:\|.*\n)+/, render: ([table]) => tableOf(table) },
  { pattern: /^(?:- .*\n(?: {2}.*\n)*)+/, render: ([list]) => `<ul>${items(list, /^- /m)}</ul>` },
  { pattern: /^(?:\d+\. .*\n(?: {3}.*\n)*)+/, render: ([list]) => `<ol>${items(list, /^\d+\. /m)}</ol>` },
  { pattern: /^(?:(?!```|\||#|- ).+\n)+/, render: ([text]) => `<p>${inline(text.trim())}</p>` },
];

export function markdownToHtml(markdown: string): Html {
  let rest = `${markdown.trim()}\n`;
  let html = '';
  while (rest !== '') {
    const [size, block] = nextBlock(rest);
    html += block;
    rest = rest.slice(size).replace(/^\n+/, '');
  }
  return { html };
}

/** A line that begins nothing else is a paragraph of its own. */
function nextBlock(text: string): readonly [size: number, html: string] {
  for (const { pattern, render } of KINDS) {
    const match = new RegExp(pattern.source, pattern.flags).exec(text);
    if (match?.index === 0) return [match[0].length, `${render(match)}\n`];
  }
  const [line = ''] = text.split('\n', 1);
  return [line.length + 1, `<p>${inline(line)}</p>\n`];
}

const anchor = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const heading = (level: number, text: string): string => `<h${level} id="${anchor(text)}">${inline(text)}</h${level}>`;

const items = (list: string, mark: RegExp): string =>
  list
    .split(new RegExp(mark.source, 'gm'))
    .slice(1)
    .map((item) => `<li>${inline(item.trim())}</li>`)
    .join('');

function tableOf(text: string): string {
  const [head = '', , ...rows] = text.trim().split('\n');
  const cells = (row: string, tag: string): string =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => `<${tag}>${inline(cell.trim())}</${tag}>`)
      .join('');
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
  return `<table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body}</tbody></table>`;
}

const CODE = /^`[^`]+`$/;

/** Code first: nothing inside of it means anything. */
const inline = (text: string): string =>
  text
    .split(/(`[^`]+`)/)
    .map((part) => (CODE.test(part) ? `<code>${escaped(part.slice(1, -1))}</code>` : prose(escaped(part))))
    .join('');

const prose = (text: string): string =>
  text
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/\[([^\]]+)\]\(((?:https?:|(?!\w+:))[^)\s]+)\)/g, '<a href="$2">$1</a>');
