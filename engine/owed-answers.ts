/** What is no request is answered after those that came before it: its answer would be taken for theirs. */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerClientError } from './client-errors.ts';

type ClientError = Error & { readonly code?: string };

export interface InOrder {
  /** Does the same, and remembers what is owed. */
  readonly noted: RequestListener;
  readonly onClientError: (error: ClientError, socket: Duplex) => void;
}

/** The last two answers of a connection: of all but the last one the request is whole. */
interface Owed {
  readonly last: ServerResponse;
  readonly before: ServerResponse | undefined;
}

const isOpen = ({ writableFinished, destroyed }: ServerResponse): boolean => !writableFinished && !destroyed;

export function answerInOrder(serve: RequestListener): InOrder {
  const all = new WeakMap<Duplex, Owed>();
  const refused = new WeakSet<Duplex>();
  return {
    noted: (request, response) => {
      all.set(request.socket, { last: response, before: all.get(request.socket)?.last });
      serve(request, response);
    },
    onClientError: (error, socket) => {
      if (refused.has(socket)) return;
      refused.add(socket);
      refuse(error, socket, all.get(socket));
    },
  };
}

function refuse(error: ClientError, socket: Duplex, owed: Owed | undefined): void {
  if (owed === undefined) return answerClientError(error, socket);
  const { last, before } = owed;
  // In the midst of an answer there is no place for another one.
  if (!last.req.complete && last.headersSent && isOpen(last)) return void socket.destroy();
  const first = last.req.complete ? last : before;
  if (first && isOpen(first) && socket.writable) first.once('close', () => answerClientError(error, socket));
  else answerClientError(error, socket);
}
