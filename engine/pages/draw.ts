/** Draws a diagram on a thread of its own: Graphviz would hold up every other request meanwhile. */
import { Worker } from 'node:worker_threads';

const SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
require(workerData.library)
  .instance()
  .then((viz) => parentPort.postMessage(viz.renderString(workerData.diagram, { format: 'svg_inline' })));
`;

/** The picture as an SVG element. */
export function draw(diagram: string): Promise<string> {
  const workerData = { library: require.resolve('@viz-js/viz'), diagram };
  const worker = new Worker(SOURCE, { eval: true, workerData });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the diagram could not be drawn')));
  });
}
