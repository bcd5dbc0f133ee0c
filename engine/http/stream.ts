/** Answers that are sent as they come: no faster than they are read, and cut off where nobody reads. */
import { CallerGone } from '../caller.ts';
import type { AwaitReader } from './await-reader.ts';
import type { Log } from '../log.ts';
import type { Delivery } from './send.ts';

export interface StreamOptions {
  readonly awaitReader: AwaitReader;
  readonly log?: Log;
}

export async function sendPieces(
  delivery: Delivery,
  pieces: AsyncIterable<string | Buffer>,
  { awaitReader, log }: StreamOptions,
): Promise<void> {
  const { request, response, envelope } = delivery;
  try {
    for await (const piece of pieces) {
      if (request.method === 'HEAD' || response.destroyed) break;
      if (response.write(piece) || (await caughtUp(delivery, awaitReader))) continue;
      response.destroy();
      break;
    }
    response.end();
    awaitReader(request, response);
  } catch (error) {
    // The status is sent: only a broken connection can still say that the answer is not whole.
    if (!(error instanceof CallerGone))
      log?.error({ requestId: envelope.requestId, err: error }, 'an answer broke off');
    response.destroy();
  }
}

/** Whether the reader has taken what was written; false where it has gone, or took too long. */
function caughtUp({ request, response }: Delivery, awaitReader: AwaitReader): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = awaitReader(request, response);
    const onDrain = (): void => settle(true);
    const onClose = (): void => settle(false);
    const settle = (inTime: boolean): void => {
      stop();
      // The next piece may take its time.
      response.setTimeout(0);
      response.off('drain', onDrain).off('close', onClose);
      resolve(inTime);
    };
    response.once('drain', onDrain).once('close', onClose);
  });
}
