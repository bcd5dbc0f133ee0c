/** A request on its way through the engine: what was asked, and where. */
import type { IncomingMessage } from 'node:http';
import type { Awaitable } from '../awaitable.ts';
import type { Caller } from '../caller.ts';
import type { Answer } from './answer.ts';
import type { Target } from './target.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly target: Target;
  /** The identifier as the path writes it; the empty string for a collection. */
  readonly identifier: string;
  /** The media type of the answer. */
  readonly mediaType: string;
}

export type Operation = (exchange: Exchange) => Awaitable<Answer>;
