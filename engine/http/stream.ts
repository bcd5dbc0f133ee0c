/** Answers that are sent as they come: no faster than they are read, and cut off where nobody reads. */
import type { ServerResponse } from 'node:http';
import { awaitReader, patience } from './await-reader.ts';
import type { Log } from '../log.ts';
import type { Delivery } from './send.ts';

export interface StreamOptions {
  /** Milliseconds that a reader may take for 64 KiB. */
  readonly slowReaderTimeout: number;
  readonly log?: Log;
}

export async function sendPieces(
  { request, response, envelope }: Delivery,
  pieces: AsyncIterable<string | Buffer>,
  { slowReaderTimeout, log }: StreamOptions,
): Promise<void> {
  try {
    for await (const piece of pieces) {
      if (request.method === 'HEAD' || response.destroyed) break;
      if (response.write(piece) || (await caughtUp(response, slowReaderTimeout))) continue;
      response.destroy();
      break;
    }
    response.end();
    awaitReader(request, response, slowReaderTimeout);
  } catch (error) {
    // The status is sent: only a broken connection can still say that the answer is not whole.
    log?.error({ requestId: envelope.requestId, err: error }, 'an answer broke off');
    response.destroy();
  }
}

/** Whether the reader has taken what was written; false where it has gone, or stands still for too long. */
function caughtUp(response: ServerResponse, timeout: number): Promise<boolean> {
  return new Promise((resolve) => {
    const onDrain = (): void => settle(true);
    const onClose = (): void => settle(false);
    const timer = setTimeout(onClose, patience(response.writableLength, timeout));
    const settle = (inTime: boolean): void => {
      clearTimeout(timer);
      response.setTimeout(0);
      response.off('drain', onDrain).off('close', onClose);
      resolve(inTime);
    };
    response.once('drain', onDrain).once('close', onClose).setTimeout(timeout);
  });
}
