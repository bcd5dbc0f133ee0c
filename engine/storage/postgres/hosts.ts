/** Which of several servers connections lead to: the first that is what `target_session_attrs` asks for, and stays so. */
import { setInterval } from 'node:timers';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Silence } from '../usage.ts';
import type { PostgresAddress, SessionAttributes } from './address.ts';

export interface Hosts {
  /** The server that new connections lead to. */
  readonly url: string;
  /** Resolves when `url` is known; rejects if no server will do. */
  ready(): Promise<void> | undefined;
  /** Looks at once whether the servers are still what they were. */
  look(): Promise<void>;
  /** Called when connections to a server are no longer wanted; `isLost` if it does not answer either. */
  onLeft(listener: (url: string, isLost: boolean) => void): void;
  /** Of the server that connections lead to; undefined if nobody looks at it. */
  readonly silence?: Silence | undefined;
  close(): void;
}

const suits: Readonly<Record<SessionAttributes, (seen: Seen) => boolean>> = {
  any: () => true,
  'read-write': ({ isReadOnly }) => !isReadOnly,
  'read-only': ({ isReadOnly }) => isReadOnly,
  primary: ({ isStandby }) => !isStandby,
  standby: ({ isStandby }) => isStandby,
  'prefer-standby': ({ isStandby }) => isStandby,
};

export function createHosts({ urls, attributes }: PostgresAddress): Hosts {
  const [only = ''] = urls;
  if (urls.length === 1 && attributes === 'any') return ONE(only);
  const listeners: ((url: string, isLost: boolean) => void)[] = [];
  const waiting: (() => void)[] = [];
  const silenced: (() => void)[] = [];
  let current: Watch | undefined;
  let isSilent = false;

  const isSuited = ({ seen }: Watch): boolean => seen !== undefined && suits[attributes](seen);
  const watches = urls.map((url) => watchServer(url, choose));
  const answering = ({ seen }: Watch): boolean => attributes === 'prefer-standby' && seen !== undefined;

  /** One that does not answer is kept as long as no other will do: it may only be slow. */
  function choose(): void {
    noteSilence();
    if (current && isSuited(current)) return;
    // In order: a server that is named later has to wait until those before it have had time to answer.
    const unknown = watches.findIndex(({ isKnown }) => !isKnown);
    const known = unknown === -1 ? watches : watches.slice(0, unknown);
    const next = known.find(isSuited) ?? (known === watches ? watches.find(answering) : undefined);
    const left = current;
    if (next === left || (next === undefined && left?.seen === undefined)) return;
    current = next;
    isSilent = false;
    for (const resolve of waiting.splice(0)) resolve();
    if (left) for (const listener of listeners) listener(left.url, left.seen === undefined);
  }

  function noteSilence(): void {
    const wasSilent = isSilent;
    isSilent = current !== undefined && current.seen === undefined;
    if (isSilent && !wasSilent) for (const listener of silenced) listener();
  }

  const lookAtAll = async (): Promise<void> => void (await Promise.all(watches.map((watch) => watch.look())));

  async function found(): Promise<void> {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      void lookAtAll().then(resolve);
    });
    requireCurrent();
  }

  return {
    get url() {
      return current?.url ?? only;
    },
    ready: () => (current ? undefined : found()),
    look: () => Promise.race([lookAtAll(), delay(PATIENCE_MS)]),
    onLeft: (listener) => void listeners.push(listener),
    silence: {
      get isNow() {
        return isSilent;
      },
      onBegin: (listener) => void silenced.push(listener),
    },
    close: () => {
      for (const watch of watches) watch.close();
    },
  };

  function requireCurrent(): void {
    if (current) return;
    const words = watches.map(({ url, seen }) => `${new URL(url).host} ${stateOf(seen)}`).join(', ');
    throw unusable(`none of the servers is ${attributes} (target_session_attrs): ${words}`);
  }
}

function stateOf(seen: Seen | undefined): string {
  if (seen === undefined) return 'does not answer';
  return seen.isStandby ? 'is a standby' : `is ${seen.isReadOnly ? 'a read-only' : 'the'} primary`;
}

/** A replica: connections lead to it as long as it answers and is what it must be. */
interface ReplicaHost extends Hosts {
  covers(position: string | undefined): boolean;
}

export function createReplicaHost(url: string, attributes: SessionAttributes): ReplicaHost {
  let leave: ((url: string, isLost: boolean) => void)[] = [];
  let wasUsable = false;
  const watch = watchServer(url, () => {
    if (wasUsable && !isUsable()) for (const listener of leave) listener(url, true);
    wasUsable = isUsable();
  });
  const isUsable = (): boolean => watch.seen !== undefined && suits[attributes](watch.seen);
  void watch.look();
  return {
    url,
    covers: (position) => {
      if (watch.seen === undefined || !isUsable()) return false;
      if (position === undefined) return true;
      const wanted = parsePosition(position);
      return wanted !== undefined && isBehind(wanted, watch.seen.position);
    },
    ready: () => (isUsable() ? undefined : Promise.reject(unusable(`${new URL(url).host} ${stateOf(watch.seen)}`))),
    look: async () => void (await watch.look()),
    onLeft: (listener) => void leave.push(listener),
    close: () => {
      leave = [];
      watch.close();
    },
  };
}

/** As if the network said so. */
const unusable = (message: string): Error => Object.assign(new Error(message), { code: 'EHOSTUNREACH' });

const ONE = (url: string): Hosts => ({
  url,
  ready: () => undefined,
  look: async () => undefined,
  onLeft: () => undefined,
  close: () => undefined,
});

// Positions in the log, which each primary continues on a timeline of its own.

/** How far a primary has written its log: `2-16/B374D848`, with its timeline. */
export const POSITION = `ltrim(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), '0') || '-' || pg_current_wal_insert_lsn()`;

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

// A server that is looked at several times a second, on a connection of its own.

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
  readonly position: LogPosition;
}

/** Together less than a second: after that, a lost server is no longer asked. */
const LOOK_MS = 300;
export const PATIENCE_MS = 600;
const CONNECT_MS = 2000;
const LOOK = `select pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
  case when pg_is_in_recovery() then ${REPLAYED} else ${POSITION} end, pg_postmaster_start_time()::text`;

function watchServer(url: string, onLook: () => void): Watch {
  let client: Client | undefined;
  /** As long as the server runs, it does not go back to an earlier timeline. Without its primary, it does not tell the last one. */
  let reached = { started: '', timeline: 0 };
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
      ).query<[boolean, boolean, string | null, string]>({ text: LOOK, rowMode: 'array' });
      const [isStandby = false, isReadOnly = false, told, started = ''] = rows[0] ?? [];
      const { timeline = 0, place } = parsePosition(told ?? '') ?? NOWHERE;
      const before = reached.started === started ? reached.timeline : 0;
      reached = { started, timeline: Math.max(before, timeline) };
      return { isStandby, isReadOnly, position: { timeline: reached.timeline, place } };
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
