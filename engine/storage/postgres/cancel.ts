/** Asks the server to end the statement that a connection is waiting for. */
import { type Client, Connection } from 'pg';

/** As much of pg's clients and connections as its types leave out. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
}
interface Wire extends Connection {
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/** A server that does not take the request does not take it later either, in milliseconds. */
const PATIENCE = 2000;

/**
 * Goes over a connection of its own (CancelRequest), which poolers pass on too. Resolves when the server has closed it:
 * from then on no other statement is ended by it. `false` where that did not come.
 */
export function cancelStatement(client: Client): Promise<boolean> {
  const { processID, secretKey } = client as Client & Backend;
  if (processID === null || secretKey === null) return Promise.resolve(false);
  const { host, port, ssl } = client;
  const wire = new Connection({ ssl }) as Wire;
  const send = (): void => wire.cancel(processID, secretKey);
  return new Promise((resolve) => {
    const end = (isDone: boolean): void => {
      clearTimeout(timer);
      wire.stream.destroy();
      resolve(isDone);
    };
    const timer = setTimeout(end, PATIENCE, false).unref();
    wire.on('error', () => end(false));
    wire.once('end', () => end(true));
    if (ssl) wire.once('connect', () => wire.requestSsl()).once('sslconnect', send);
    else wire.once('connect', send);
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}
