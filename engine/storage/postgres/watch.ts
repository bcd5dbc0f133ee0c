/** A server that is looked at several times a second, on a connection of its own. */
import { setInterval } from 'node:timers';
import { Client } from 'pg';

export interface Watch {
  readonly url: string;
  /** What the server said last; undefined if it does not answer in time. */
  readonly seen: Seen | undefined;
  /** Whether it has answered, or has had time to. */
  readonly isKnown: boolean;
  /** Looks now. Never rejects. */
  look(): Promise<Seen | undefined>;
  close(): void;
}

export interface Seen {
  readonly isStandby: boolean;
  /** Whether a transaction may not write. */
  readonly isReadOnly: boolean;
  /** How far the log of the primary is written, or that of a standby is replayed. */
  readonly position: bigint;
}

/** Together less than a second: after that, a lost server is no longer asked. */
const LOOK_MS = 300;
export const PATIENCE_MS = 600;
const CONNECT_MS = 2000;
const LOOK = `select pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
  (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end)::text`;

export function watchServer(url: string, onLook: () => void): Watch {
  let client: Client | undefined;
  let seen: Seen | undefined;
  let isKnown = false;
  let looking: Promise<Seen | undefined> | undefined;

  async function connected(): Promise<Client> {
    if (client) return client;
    const fresh = new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: PATIENCE_MS,
      application_name: 'records-watch',
    });
    client = fresh.on('error', () => lose(fresh)).once('end', () => lose(fresh));
    await fresh.connect();
    return fresh;
  }

  function lose(lost: Client | undefined): void {
    lost?.connection.stream.destroy();
    if (client !== lost) return;
    client = undefined;
    // A server that starts again may have less than it had.
    seen = undefined;
    onLook();
  }

  async function ask(): Promise<Seen | undefined> {
    try {
      const { rows } = await (
        await connected()
      ).query<[boolean, boolean, string | null]>({ text: LOOK, rowMode: 'array' });
      const [isStandby = false, isReadOnly = false, position] = rows[0] ?? [];
      return { isStandby, isReadOnly, position: parsePosition(position ?? '') ?? 0n };
    } catch {
      lose(client);
      return undefined;
    }
  }

  async function look(): Promise<Seen | undefined> {
    looking ??= ask().finally(() => (looking = undefined));
    seen = await looking;
    isKnown = true;
    onLook();
    return seen;
  }

  const timer = setInterval(() => void look(), LOOK_MS).unref();
  return {
    url,
    get seen() {
      return seen;
    },
    get isKnown() {
      return isKnown;
    },
    look,
    close: () => {
      clearInterval(timer);
      client?.connection.stream.destroy();
    },
  };
}

/** `16/B374D848`, as PostgreSQL writes a place in its log. */
export function parsePosition(text: string): bigint | undefined {
  const [, high = '', low = ''] = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text) ?? [];
  return high === '' ? undefined : (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
