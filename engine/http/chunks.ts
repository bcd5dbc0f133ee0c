/**
 * Bodies in very small chunks. Node calls back and makes a buffer for each chunk: 64 KiB of one-byte chunks take 14 ms, and
 * every connection that has data is read in one turn of the event loop. So chunks are counted while Node parses them,
 * before anything waits for the body, and the parser is told to skip the rest of a body that has too many.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';

/** A chunk may have this many bytes of framing for every two of content. More than that is excess. */
const CHUNK_BYTES = 16;
/** Bytes of excess that a body may have. */
const MAX_EXCESS = 16 * 1024;
/** The same for all bodies that are read in one turn of the event loop: about 8 ms. */
const MAX_EXCESS_OF_TURN = 64 * 1024;
/** What a body may have even then. */
const ALWAYS = 1024;

type Refuse = (problem: Problem) => void;

interface Counted {
  excess: number;
  problem: Problem | undefined;
  readonly listeners: Refuse[];
}

const all = new WeakMap<IncomingMessage, Counted>();

/** Calls back, at once or later, if the body comes in too many small chunks. To be called before its first chunk. */
export function onTooManyChunks(request: IncomingMessage, refuse: Refuse): void {
  const { problem, listeners } = all.get(request) ?? count(request);
  if (problem) refuse(problem);
  else listeners.push(refuse);
}

function count(request: IncomingMessage): Counted {
  const counted: Counted = { excess: 0, problem: undefined, listeners: [] };
  all.set(request, counted);
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding) => {
    if (counted.problem) return true;
    if (chunk !== null) counted.problem = faultWith(counted, chunk);
    if (!counted.problem) return push(chunk, encoding);
    skipBodies(request.socket);
    for (const refuse of counted.listeners) refuse(counted.problem);
    return true;
  };
  return counted;
}

let excessOfTurn = 0;

function faultWith(counted: Counted, chunk: Buffer): Problem | undefined {
  const before = counted.excess;
  counted.excess = Math.max(0, before + CHUNK_BYTES - 2 * chunk.length);
  if (counted.excess <= before) return undefined;
  if (excessOfTurn === 0) setImmediate(() => (excessOfTurn = 0));
  excessOfTurn += counted.excess - before;
  if (counted.excess > MAX_EXCESS) return tooMany();
  return counted.excess > ALWAYS && excessOfTurn > MAX_EXCESS_OF_TURN ? tooManyNow() : undefined;
}

const closing = { headers: { Connection: 'close' } };

const tooMany = (): Problem =>
  new Problem(
    'bad-request',
    'The body comes in too many small chunks; send more than eight bytes in each, or Content-Length',
    closing,
  );

const tooManyNow = (): Problem =>
  new Problem(
    'overloaded',
    'Too many bodies come in small chunks right now; try again in a second, with larger chunks or Content-Length',
    closing,
  );

/**
 * Node cannot stop its parser in the middle of what it has read, but the parser calls nothing for the chunks if there is
 * nothing to call. If a version of Node names it otherwise, chunks are dropped one by one.
 */
function skipBodies(socket: Socket & { readonly parser?: unknown }): void {
  const { parser } = socket;
  if (typeof parser !== 'object' || parser === null) return;
  const found = Object.entries(parser).find(
    ([, value]) => typeof value === 'function' && value.name === 'parserOnBody',
  );
  if (found === undefined) return;
  const [key, onBody] = found;
  Object.assign(parser, { [key]: undefined });
  // Node uses the parser for another connection afterwards.
  socket.once('close', () => Object.assign(parser, { [key]: onBody }));
}
