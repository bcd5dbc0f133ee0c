/** A replica: how far it has replayed the log, asked several times a second on a connection of its own. */
import { setInterval } from 'node:timers';
import { Client } from 'pg';
import type { Statement } from '../driver.ts';

/** Milliseconds between two looks, and for each: together less than a second, after which a lost replica is no longer asked. */
const LOOK_EVERY = 300;
const LOOK_PATIENCE = 600;
/** Milliseconds until a replica that does not connect is tried anew. */
const LOOK_CONNECT = 2000;

export interface ReplicaWatch {
  /** Whether it answers, and has everything up to this position; undefined asks for nothing. */
  covers(position?: string): boolean;
  close(): void;
}

// Positions in the log, which each primary continues on a timeline of its own.

/** How far a primary has written its log: `2-16/B374D848`, with its timeline. */
const WRITTEN = `ltrim(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), '0') || '-' || pg_current_wal_insert_lsn()`;

export const POSITION: Statement = { sql: `select ${WRITTEN}` };

/**
 * Of a standby, how far it has replayed the log, and which timeline it surely is on: that of its last restart point, or
 * the one that it gets. One that follows a replaced primary, or was it, may be farther on a timeline that nobody goes on with.
 */
const REPLAYED = `(select to_hex(greatest(timeline_id, (select received_tli from pg_stat_wal_receiver))) from pg_control_checkpoint()) || '-' || pg_last_wal_replay_lsn()`;

interface LogPosition {
  /** undefined if it is not told. */
  readonly timeline: number | undefined;
  readonly place: bigint;
}

const NOWHERE: LogPosition = { timeline: undefined, place: 0n };

function parsePosition(text: string): LogPosition | undefined {
  const [, timeline, high = '', low = ''] = /^(?:([0-9A-F]{1,8})-)?([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text) ?? [];
  if (high === '') return undefined;
  const place = (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
  return { timeline: timeline === undefined ? undefined : Number.parseInt(timeline, 16), place };
}

/** A primary that another one has replaced, but that does not know it yet, goes on with its log, and so do its standbys. */
const isBehind = (wanted: LogPosition, seen: LogPosition): boolean =>
  wanted.place <= seen.place && (wanted.timeline ?? 0) <= (seen.timeline ?? 0);

const LOOK = `select case when pg_is_in_recovery() then ${REPLAYED} else ${WRITTEN} end, pg_postmaster_start_time()::text`;

/** `onLost`: it has stopped answering. */
export function watchReplica(url: string, onLost: () => void): ReplicaWatch {
  let client: Client | undefined;
  /** As long as the server runs, it does not go back to an earlier timeline. Without its primary, it does not tell the last one. */
  let reached = { started: '', timeline: 0 };
  /** undefined if it does not answer in time. */
  let seen: LogPosition | undefined;
  let looking: Promise<void> | undefined;

  async function connected(): Promise<Client> {
    if (client) return client;
    const fresh = new Client({
      connectionString: url,
      connectionTimeoutMillis: LOOK_CONNECT,
      query_timeout: LOOK_PATIENCE,
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
    if (seen !== undefined) onLost();
    seen = undefined;
  }

  async function ask(): Promise<void> {
    try {
      const asked = await connected();
      const { rows } = await asked.query<[string | null, string]>({ text: LOOK, rowMode: 'array' });
      const [told, started = ''] = rows[0] ?? [];
      const { timeline = 0, place } = parsePosition(told ?? '') ?? NOWHERE;
      const before = reached.started === started ? reached.timeline : 0;
      reached = { started, timeline: Math.max(before, timeline) };
      seen = { timeline: reached.timeline, place };
    } catch {
      lose(client);
    }
  }

  const look = (): Promise<void> => (looking ??= ask().finally(() => (looking = undefined)));
  void look();
  const timer = setInterval(() => void look(), LOOK_EVERY).unref();
  return {
    covers: (position) => {
      if (seen === undefined || position === undefined) return seen !== undefined;
      const wanted = parsePosition(position);
      return wanted !== undefined && isBehind(wanted, seen);
    },
    close: () => {
      clearInterval(timer);
      client?.connection.stream.destroy();
    },
  };
}
