/** A port that stays the test's own while what listens there is started anew. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The system may give any port from 32,768 to a connection that goes out during a restart. */
export async function freePort(): Promise<number> {
  const port = randomInt(10_240, 32_768);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isFree ? port : freePort();
}
