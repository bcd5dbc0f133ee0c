/** Draws the picture of README.md: a descriptor on the left; its REST interface, SQL table and JSON on the right. */
import { element, escaped, rect, text } from '../../bench/report/svg.ts';
import type { Exchange, Scene } from './scene.ts';

export const PICTURE = 'tests/readme/interface.svg';

const WIDTH = 960;
const MARGIN = 24;
const GAP = 16;
const LEFT = 432;
const RIGHT_AT = 504;
const RIGHT = WIDTH - MARGIN - RIGHT_AT;
const HEAD = 32;
const LINE = 20;
const PADDING = 14;

// The picture paints its own background: an image in a page knows the system's colour scheme, not the page's.
const STYLE = `
svg { --page: #f6f8fa; --card: #ffffff; --rule: #d1d9e0; --ink: #1f2328; --faint: #59636e; --key: #0550ae; --text: #0a6640; --good: #1a7f37; --bad: #c4320a }
@media (prefers-color-scheme: dark) { svg { --page: #0d1117; --card: #161b22; --rule: #3d444d; --ink: #e6edf3; --faint: #9198a1; --key: #79c0ff; --text: #7ee787; --good: #3fb950; --bad: #ff9066 } }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); white-space: pre }
.page { fill: var(--page) } .card { fill: var(--card); stroke: var(--rule) } .rule { stroke: var(--rule) }
.head { font: 600 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--faint) }
.key { fill: var(--key) } .text { fill: var(--text) } .faint { fill: var(--faint) }
.good { fill: var(--good); font-weight: 700 } .bad { fill: var(--bad); font-weight: 700 }
.arrow { fill: none; stroke: var(--faint); stroke-width: 2.5; stroke-linecap: round; stroke-linejoin: round }
`.trim();

const span = (name: string, words: string): string => element('tspan', { class: name }, escaped(words));

/** A line of code; `markup` is already escaped. */
const code = (x: number, y: number, markup: string): string => element('text', { x, y }, markup);

const TOKENS = /(?<key>[\w"]+(?=:))|(?<text>"[^"]*"|'[^']*')/g;

/** Highlights the keys and quoted strings of a line of YAML or JSON. */
function coloured(line: string): string {
  let markup = '';
  let end = 0;
  for (const match of line.matchAll(TOKENS)) {
    const name = match.groups?.['key'] === undefined ? 'text' : 'key';
    markup += escaped(line.slice(end, match.index)) + span(name, match[0]);
    end = match.index + match[0].length;
  }
  return markup + escaped(line.slice(end));
}

interface Card {
  readonly head: string;
  readonly height: number;
  /** `x` and `y` are the top left corner. */
  draw(x: number, y: number): readonly string[];
}

const lines = (head: string, markup: readonly string[]): Card => ({
  head,
  height: HEAD + markup.length * LINE + PADDING,
  draw: (x, y) => markup.map((one, index) => code(x + PADDING, y + HEAD + 15 + index * LINE, one)),
});

const drawn = ({ head, height, draw }: Card, x: number, y: number, width: number): readonly string[] => [
  rect(x + 0.5, y + 0.5, width, height, { class: 'card', rx: 8 }),
  text(x + PADDING, y + 21, head, { class: 'head' }),
  ...draw(x, y),
];

const routeLines = (routes: Scene['routes']): readonly string[] => {
  const left = routes.map(([, methods]) => methods.join(' ').toUpperCase());
  const width = Math.max(...left.map(({ length }) => length)) + 2;
  return routes.map(([path], index) => `${span('good', (left[index] ?? '').padEnd(width))}${escaped(path)}`);
};

function tableCard({ name, columns, row }: Scene['table']): Card {
  const widths = columns.map((column, index) => Math.max(column.length, row[index]?.length ?? 0) * 7.6 + 14);
  const starts = widths.map((_, index) => widths.slice(0, index).reduce((sum, width) => sum + width, 0));
  const cells = (words: readonly string[], x: number, y: number, style: string): readonly string[] =>
    words.map((word, index) => text(x + PADDING + (starts[index] ?? 0), y, word, { class: style }));
  return {
    head: `SQL table ${name}`,
    height: HEAD + 2 * LINE + PADDING + 4,
    draw: (x, y) => [
      ...cells(columns, x, y + HEAD + 14, 'key'),
      element('path', { class: 'rule', d: `M${x + PADDING} ${y + HEAD + 22.5}H${x + RIGHT - PADDING}` }),
      ...cells(row, x, y + HEAD + LINE + 18, 'cell'),
    ],
  };
}

/** How many fit on a line of a card on the right. */
const CHARACTERS = 54;

function wrapped(parts: readonly string[]): readonly string[] {
  const rows: string[] = [];
  for (const part of parts) {
    const last = rows.at(-1);
    if (last === undefined || last.length + part.length > CHARACTERS - 6) rows.push(part);
    else rows[rows.length - 1] = `${last} ${part}`;
  }
  return rows;
}

function requestLines({ method, path, body }: Exchange): readonly string[] {
  const target = `${span('good', method)} ${escaped(path)}`;
  const isShort = `${method} ${path} ${body}`.length <= CHARACTERS;
  return isShort ? [`${target} ${coloured(body)}`] : [target, `     ${coloured(body)}`];
}

/** A record in full; of a problem, the message only. */
function answerLines({ status, answer }: Exchange): readonly string[] {
  if (status >= 400) return [`${span('bad', String(status))}  ${escaped(String(answer['detail']))}`];
  const members = Object.entries(answer).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  const rows = wrapped(members.map((member, index) => (index < members.length - 1 ? `${member},` : `${member}}`)));
  return rows.map((row, index) => (index === 0 ? `${span('good', String(status))}  {` : '      ') + coloured(row));
}

const exchangeLines = (exchange: Exchange): readonly string[] => [...requestLines(exchange), ...answerLines(exchange)];

export function drawPicture({ descriptor, routes, table, created, refused }: Scene): string {
  const yaml = lines('schema/gift-card.yaml', descriptor.trimEnd().split('\n').map(coloured));
  const right = [
    lines('REST interface', routeLines(routes)),
    tableCard(table),
    lines('JSON', exchangeLines(created)),
    lines('Mistakes are explained', exchangeLines(refused)),
  ];
  const height = right.reduce((sum, card) => sum + card.height + GAP, 2 * MARGIN - GAP);
  const yamlTop = Math.round((height - yaml.height) / 2);
  const tops = right.map((_, index) => right.slice(0, index).reduce((sum, card) => sum + card.height + GAP, MARGIN));
  const middle = Math.round(height / 2);
  const parts = [
    element('title', {}, 'A descriptor, and the REST interface, the table and the JSON that follow from it'),
    `<style>${STYLE}</style>`,
    rect(0, 0, WIDTH, height, { class: 'page', rx: 12 }),
    ...drawn(yaml, MARGIN, yamlTop, LEFT),
    element('path', { class: 'arrow', d: `M${MARGIN + LEFT + 12} ${middle}h24m-8 -8l8 8l-8 8` }),
    ...right.flatMap((card, index) => drawn(card, RIGHT_AT, tops[index] ?? 0, RIGHT)),
  ];
  const size = { width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}` };
  return `${element('svg', { xmlns: 'http://www.w3.org/2000/svg', role: 'img', 'xml:space': 'preserve', ...size }, `\n${parts.join('\n')}\n`)}\n`;
}
