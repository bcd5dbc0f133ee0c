/** What is told of each request when it is over. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Which operation of which type: made at boot. */
export interface Label {
  readonly type: string;
  readonly operation: string;
}

export interface Observed {
  readonly method: string;
  /** Without the query string, which may hold values of records. */
  readonly path: string;
  readonly status: number;
  /** Whether the client went away before the end. */
  readonly aborted: boolean;
  readonly milliseconds: number;
  readonly requestId: string;
  /** undefined where no operation was found. */
  readonly label: Label | undefined;
}

export type Observe = (observed: Observed) => void;

interface Watched {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly requestId: string;
  readonly labelOf: () => Label | undefined;
}

export function watchRequest({ request, response, path, requestId, labelOf }: Watched, observe: Observe): void {
  const started = performance.now();
  response.once('close', () =>
    observe({
      method: request.method ?? '',
      path,
      status: response.statusCode,
      aborted: !response.writableFinished,
      milliseconds: performance.now() - started,
      requestId,
      label: labelOf(),
    }),
  );
}
