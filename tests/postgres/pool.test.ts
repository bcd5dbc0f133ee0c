/** Which connections a pool hands out once they lead to a server that is left. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { PATIENT } from '../../engine/caller.ts';
import type { Statement } from '../../engine/storage/driver.ts';
import { createHosts } from '../../engine/storage/postgres/hosts.ts';
import { parseAddress } from '../../engine/storage/postgres/address.ts';
import { type Connections, createConnections } from '../../engine/storage/postgres/pool.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { onServer } from '../support/postgres.ts';

const BACKEND: Statement = { sql: 'select pg_backend_pid()' };

onServer('connections to a server that is left', () => {
  let database: TestDatabase;
  let connections: Connections;
  let leave: (isLost: boolean) => void;
  beforeAll(async () => {
    database = await createDatabase('postgres');
  });
  beforeEach(() => {
    const place = parseAddress(database.url);
    const hosts = createHosts(place);
    leave = () => undefined;
    const onLeft: typeof hosts.onLeft = (listener) => {
      leave = (isLost) => listener(hosts.url, isLost);
    };
    connections = createConnections(place, { statement: 0, idle: 0, lock: 0 }, { ...hosts, onLeft });
  });
  afterEach(() => connections.close());
  afterAll(() => database.remove());

  const backend = async (): Promise<unknown> => {
    const connection = await connections.take(PATIENT);
    try {
      return (await connection.query(BACKEND, [])).rows[0]?.[0];
    } finally {
      connection.release();
    }
  };

  it('are used again as long as it is not left', async () => {
    expect(await backend()).toBe(await backend());
  });

  it('are not taken again: those that are free, and those that come back later', async () => {
    const held = await connections.take(PATIENT);
    const [[before] = []] = (await held.query(BACKEND, [])).rows;
    const free = await backend();
    leave(false);
    // What runs comes to its end.
    expect((await held.query(BACKEND, [])).rows).toEqual([[before]]);
    held.release();
    const after = await Promise.all([backend(), backend()]);
    expect(after).not.toContain(before);
    expect(after).not.toContain(free);
    expect(connections.usage().used + connections.usage().idle).toBe(new Set(after).size);
  });

  it('are broken at once if it is lost', async () => {
    const held = await connections.take(PATIENT);
    const sleep = held.query({ sql: 'select pg_sleep(60)' }, []);
    leave(true);
    await expect(sleep).rejects.toThrow(/terminated|closed|ended/);
    held.spoil();
    held.release();
    expect(await backend()).toEqual(expect.any(Number));
  });
});
