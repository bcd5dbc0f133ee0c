/** Pictures as text: the few elements of SVG that the charts are made of, legible on light and on dark ground. */
export type Attributes = Readonly<Record<string, string | number>>;

export interface Point {
  readonly x: number;
  readonly y: number;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escaped = (words: string): string => words.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

/** Pixels need no more than tenths. */
const shown = (value: string | number): string =>
  typeof value === 'number' ? String(Math.round(value * 10) / 10) : escaped(value);

/** `content` is markup. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${shown(value)}"`);
  return content === '' ? `<${name}${pairs.join('')}/>` : `<${name}${pairs.join('')}>${content}</${name}>`;
}

/** `y` is the line that the letters stand on; the class `end` or `middle` says which end of them is at `x`. */
export const text = (x: number, y: number, words: string, attributes: Attributes = {}): string =>
  element('text', { x, y, ...attributes }, escaped(words));

export const rect = (x: number, y: number, width: number, height: number, attributes: Attributes = {}): string =>
  element('rect', { x, y, width, height, ...attributes });

export const line = (from: Point, to: Point, attributes: Attributes = {}): string =>
  element('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, ...attributes });

export const polyline = (points: readonly Point[], attributes: Attributes = {}): string =>
  element('polyline', { points: points.map(({ x, y }) => `${shown(x)},${shown(y)}`).join(' '), ...attributes });

/** Distinct on both grounds, and to eyes that see few colours; the class `series-0` and so on sets them. */
const COLOURS = ['#1f83d6', '#d4681c', '#14986e', '#b565b8', '#b58900', '#d9536f', '#6b7fd1', '#7d8590'] as const;

/** So many series can be told apart by their colour. */
export const COLOUR_COUNT = COLOURS.length;

export const seriesClass = (index: number): string => `series-${index % COLOUR_COUNT}`;

/** Where these classes are put, the picture is right on both grounds. */
const STYLE = [
  'svg { color-scheme: light dark; --ground: #fff; --ink: #1f2328; --faint: #59636e; --rule: #d1d9e0 }',
  '@media (prefers-color-scheme: dark) { svg { --ground: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --rule: #3d444d } }',
  'text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink) }',
  '.ground { fill: var(--ground) }',
  '.title { font-size: 16px; font-weight: 600 } .head { font-weight: 600 } .faint { fill: var(--faint) }',
  '.over { stroke: var(--ground); stroke-width: 4; paint-order: stroke }',
  '.middle { text-anchor: middle } .end { text-anchor: end }',
  '.rule { stroke: var(--rule) } .mark { stroke: var(--faint); stroke-dasharray: 3 3 }',
  '.bar, .dot { fill: currentColor } .curve { fill: none; stroke: currentColor; stroke-width: 2 }',
  ...COLOURS.map((colour, index) => `.series-${index} { color: ${colour} }`),
].join('\n');

export function picture(width: number, height: number, title: string, content: readonly string[]): string {
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const parts = [
    element('title', {}, escaped(title)),
    `<style>${STYLE}</style>`,
    rect(0, 0, width, height, { class: 'ground' }),
    ...content,
  ];
  return `${element('svg', { xmlns: 'http://www.w3.org/2000/svg', role: 'img', ...size }, `\n${parts.join('\n')}\n`)}\n`;
}
