/** Polls a replica's replay position and lag several times a second, on a connection of its own. */
import { setInterval } from 'node:timers';
import { Client } from 'pg';
import type { Statement } from '../driver.ts';
import { ACQUIRE_TIMEOUT_MS, POLL_INTERVAL_MS, REPLICA_POLL_TIMEOUT_MS } from './tuning.ts';

/** A primary's WAL position with its timeline: `2-16/B374D848`. */
const WRITTEN = `ltrim(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), '0') || '-' || pg_current_wal_insert_lsn()`;

export const POSITION: Statement = { sql: `select ${WRITTEN}` };

/** A standby's replay position, with the later timeline of its last restart point and WAL receiver. */
const REPLAYED = `(select to_hex(greatest(timeline_id, (select received_tli from pg_stat_wal_receiver))) from pg_control_checkpoint()) || '-' || pg_last_wal_replay_lsn()`;

/** Equal on a primary and its replicas: the cluster, the database and the schema of new tables. */
const DATABASE_ID = `concat_ws(' ', (select system_identifier from pg_control_system()), (select oid from pg_database where datname = current_database()), quote_ident(current_schema())::regnamespace::oid)`;

export const IDENTITY: Statement = { sql: `select ${DATABASE_ID}` };

interface LogPosition {
  readonly timeline: number;
  readonly lsn: bigint;
}

function parsePosition(text: string): LogPosition | undefined {
  const [, timeline = '0', high = '', low = ''] =
    /^(?:([0-9A-F]{1,8})-)?([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text) ?? [];
  if (high === '') return undefined;
  return { timeline: Number.parseInt(timeline, 16), lsn: (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`) };
}

/** The WAL that a standby has received; null if it receives none. */
const RECEIVED = `case when pg_is_in_recovery() then (select pg_last_wal_receive_lsn() from pg_stat_wal_receiver) else pg_current_wal_insert_lsn() end`;

const POSITION_QUERY = `select case when pg_is_in_recovery() then ${REPLAYED} else ${WRITTEN} end, pg_postmaster_start_time()::text, ${RECEIVED}::text, ${DATABASE_ID}`;

/** `identity`: that of the primary. */
export function watchReplica(url: string, identity: string, onLost: () => void) {
  let client: Client | undefined;
  /** The highest timeline since the server started, which may report an older one without a primary. */
  let reached = { started: '', timeline: 0 };
  let seen: LogPosition | undefined;
  /** A position that the replica had not replayed yet. */
  let behind: { readonly lsn: bigint; readonly since: number } | undefined;
  let isOther = false;
  let polling: Promise<void> | undefined;

  async function connected(): Promise<Client> {
    if (client) return client;
    const fresh = new Client({
      connectionString: url,
      connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
      query_timeout: REPLICA_POLL_TIMEOUT_MS,
      application_name: 'records-watch',
    });
    client = fresh.on('error', () => disconnect(fresh)).once('end', () => disconnect(fresh));
    await fresh.connect();
    return fresh;
  }

  function disconnect(lost: Client | undefined): void {
    lost?.connection.stream.destroy();
    if (client !== lost) return;
    client = undefined;
    behind ??= { lsn: 0n, since: performance.now() };
    // A restarted replica may have replayed less, so open reads must not continue.
    if (seen !== undefined) onLost();
    seen = undefined;
  }

  async function ask(): Promise<void> {
    try {
      const asked = await connected();
      const { rows } = await asked.query<(string | null)[]>({ text: POSITION_QUERY, rowMode: 'array' });
      const [text, started, received, found] = rows[0] ?? [];
      isOther = found !== identity;
      if (isOther) return disconnect(client);
      const { timeline = 0, lsn = 0n } = parsePosition(text ?? '') ?? {};
      const wanted = parsePosition(received ?? '')?.lsn ?? lsn + 1n;
      if (lsn >= wanted) behind = undefined;
      else if (behind === undefined || lsn >= behind.lsn) behind = { lsn: wanted, since: performance.now() };
      const before = reached.started === started ? reached.timeline : 0;
      reached = { started: started ?? '', timeline: Math.max(before, timeline) };
      seen = { timeline: reached.timeline, lsn };
    } catch {
      disconnect(client);
    }
  }

  const cut = (): void => void client?.connection.stream.destroy();
  const poll = (): Promise<void> => (polling ??= ask().finally(() => (polling = undefined)));
  const first = poll();
  const timer = setInterval(() => void poll(), POLL_INTERVAL_MS).unref();
  return {
    /** Whether the address leads to another database. False for a replica that does not respond. */
    isOther: (): Promise<boolean> => first.then(() => isOther),
    lag: (): number => (behind === undefined ? 0 : (performance.now() - behind.since) / 1000),
    covers: (position?: string): boolean => {
      if (seen === undefined || position === undefined) return seen !== undefined;
      const wanted = parsePosition(position);
      // After a failover, the old primary's standbys can be ahead, but on an older timeline.
      return wanted !== undefined && wanted.lsn <= seen.lsn && wanted.timeline <= seen.timeline;
    },
    cut,
    close: (): void => {
      clearInterval(timer);
      cut();
    },
  };
}
