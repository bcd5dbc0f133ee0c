/** Model -> its entity-relationship diagram in DOT, the language of Graphviz: the start page draws it, `describe` prints it. */
import { Worker } from 'node:worker_threads';
import type { Field, Model, RecordType, Reference } from '../model/model.ts';
import { assetFile } from './assets.ts';
import { escaped } from './layout.ts';

/** Colours are classes of the page's style sheet, so that the picture follows light and dark. */
const HEAD = [
  'rankdir=LR; bgcolor="transparent"; nodesep=0.35; ranksep=0.9; splines=true;',
  'node [shape=plain, fontname="Helvetica", fontsize=11];',
  'edge [fontname="Helvetica", fontsize=9, arrowsize=0.8, dir=both];',
];

const IN_A_ROW = 3;
/** Rows of one type. */
const MAX_FIELDS = 20;

export function diagramOf(model: Model): string {
  const types = [...model.types.values()];
  // A client that may not see a type does not see what leads there.
  const columns = types.flatMap((type) =>
    type.references
      .filter(({ target }) => model.types.get(target.name) === target)
      .map((reference) => columnEdge(type, reference)),
  );
  const joins = model.joinTables.map(({ left, right }) => edge(left.type, right.type, 'crowodot', 'crowodot', ''));
  const rows = inRows(
    types.filter((type) => type.references.length + type.referrers.length + joined(model, type) === 0),
  );
  return ['digraph model {', ...HEAD, ...types.map(node), ...columns, ...joins, ...rows, '}'].join('\n');
}

const joined = ({ joinTables }: Model, type: RecordType): number =>
  joinTables.filter(({ left, right }) => left.type === type || right.type === type).length;

/** Types that nothing connects stand beside each other, not in one long column: lines that are not drawn hold them. */
function inRows(types: readonly RecordType[]): readonly string[] {
  return types.flatMap((type, index) => {
    const before = index % IN_A_ROW === 0 ? undefined : types[index - 1];
    return before === undefined ? [] : [`${quoted(before.name)} -> ${quoted(type.name)} [style=invis];`];
  });
}

const quoted = (text: string): string => JSON.stringify(text);
const cell = (text: string, attributes = ''): string => `<td align="left" ${attributes}>${escaped(text)}</td>`;

/** A type with its fields; one that has paths of its own is marked by its class. */
function node(type: RecordType): string {
  const { name, identifier, fields, operations } = type;
  const rows = [
    `<tr><td align="left" colspan="2" bgcolor="#eeeeee"><b>${escaped(name)}</b></td></tr>`,
    `<tr>${cell(identifier.name)}${cell('identifier')}</tr>`,
    ...[...fields.values()].slice(0, MAX_FIELDS).map(fieldRow),
    ...(fields.size > MAX_FIELDS ? [`<tr>${cell(`and ${fields.size - MAX_FIELDS} more`, 'colspan="2"')}</tr>`] : []),
  ];
  const label = `<<table border="1" cellborder="0" cellspacing="0" cellpadding="3">${rows.join('')}</table>>`;
  const kind = operations.size > 0 ? 'served' : 'related';
  return `${quoted(name)} [class=${kind}, id=${quoted(`diagram-${name}`)}, tooltip=${quoted(name)}, label=${label}];`;
}

const fieldRow = ({ name, type }: Field): string => `<tr>${cell(name)}${cell(type.name)}</tr>`;

/** From the type that has the column to the one it points at: many to one, or one to one. */
function columnEdge(type: RecordType, { target, relation, required, unique }: Reference): string {
  const head = required ? 'teetee' : 'teeodot';
  return edge(type, target, unique ? 'teeodot' : 'crowodot', head, relation?.name ?? '');
}

function edge(from: RecordType, to: RecordType, tail: string, head: string, label: string): string {
  const attributes = `arrowtail=${tail}, arrowhead=${head}, label=${quoted(label)}, tooltip=${quoted(`${from.name} – ${to.name}`)}`;
  return `${quoted(from.name)} -> ${quoted(to.name)} [${attributes}];`;
}

// Diagrams are drawn on a thread of their own: Graphviz would hold up every other request meanwhile.

const SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
require(workerData.library)
  .instance()
  .then((viz) => parentPort.postMessage(viz.renderString(workerData.diagram, { format: 'svg_inline' })));
`;

/** The picture as an SVG element. */
export function draw(diagram: string): Promise<string> {
  const workerData = { library: assetFile('viz.cjs'), diagram };
  const worker = new Worker(SOURCE, { eval: true, workerData });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the diagram could not be drawn')));
  });
}
