/** A wire between the service and PostgreSQL that sees each statement, and may change, lose or cut it. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * What becomes of a statement: `cut` ends the connection before it arrives, `unanswered` once the server has done it;
 * `instead` is run in its place.
 */
type Fate = 'pass' | 'cut' | 'unanswered' | { readonly instead: string };

export interface Wire {
  readonly url: string;
  /** Asked for each statement, which waits for the answer. */
  fate: (sql: string) => Fate | Promise<Fate>;
  close(): Promise<void>;
}

export async function startWire(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port || 5432), noDelay: true });
    for (const socket of [client, upstream])
      sockets.add(socket.on('error', () => undefined).once('close', () => sockets.delete(socket)));
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    relay(client, upstream, (sql) => wire.fate(sql));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const wire: Wire = {
    url: own.href,
    fate: () => 'pass',
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return wire;
}

function relay(client: Socket, upstream: Socket, fateOf: Wire['fate']): void {
  const known = new Map<string, string>();
  let isDeaf = false;
  let rest = Buffer.alloc(0);
  let hasStarted = false;
  upstream.on('data', (bytes) => (isDeaf ? client.destroy() : client.write(bytes)));
  let isBusy = false;
  async function relayRest(): Promise<void> {
    for (;;) {
      const head = hasStarted ? 1 : 0;
      if (rest.length < head + 4) return;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      const sql = hasStarted ? statementIn(message, known) : undefined;
      hasStarted = true;
      const fate = sql === undefined || isDeaf ? 'pass' : await fateOf(sql);
      if (fate === 'cut') return void client.destroy();
      if (fate === 'unanswered') isDeaf = true;
      upstream.write(typeof fate === 'string' ? message : queryOf(fate.instead));
    }
  }
  client.on('data', (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    if (isBusy) return;
    isBusy = true;
    void relayRest().finally(() => (isBusy = false));
  });
}

/** The SQL of a Query, or of what a Bind refers to. */
function statementIn(message: Buffer, known: Map<string, string>): string | undefined {
  const [type, body] = [String.fromCharCode(message[0] ?? 0), message.subarray(5)];
  const [first = '', second = ''] = body.toString('utf8').split('\0', 2);
  if (type === 'P') known.set(first, second);
  if (type === 'B') return known.get(second);
  return type === 'Q' ? first : undefined;
}

function queryOf(sql: string): Buffer {
  const text = Buffer.from(`${sql}\0`);
  const head = Buffer.from('Q\0\0\0\0');
  head.writeUInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
}
