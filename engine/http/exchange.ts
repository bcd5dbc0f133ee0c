/** A request on its way to an operation, and what serves it. */
import type { IncomingMessage } from 'node:http';
import type { Body } from '../operations/body.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { OperationEntry } from '../operations/table.ts';
import type { Answer } from './answer.ts';
import type { BudgetCaller, Content, Target } from './request.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly caller: BudgetCaller;
  readonly target: Target;
  /** The identifier as the path has it; empty for a collection. */
  readonly identifier: string;
  readonly mediaType: string;
  /** Reads the body once, however often the operation runs. */
  readonly readBody: (accepted: readonly string[]) => Promise<Content>;
}

export type ServeOperation = (exchange: Exchange) => Answer | Promise<Answer>;

export interface Service extends OperationContext {
  /** The path of the collection in URLs. */
  readonly path: string;
  /** Translates a body of a dialect to one of `/api`. */
  readonly translate?: (body: Body, exchange: Exchange) => Promise<Body>;
}

export type Server = (service: Service, entry: OperationEntry) => ServeOperation;
