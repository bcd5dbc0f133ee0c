/** Clients that ask without a pause while something happens, and how long the longest of each kind of request waited. */
import { ask } from './ask.ts';
import { connectTo } from './databases.ts';
import { pause } from './postgres.ts';

/** Milliseconds, by kind of request. */
export type Longest = Readonly<Record<'get' | 'list' | 'write', number>>;

export interface Waited {
  readonly longest: Longest;
  /** The longest wait for a lock that a request's statement was seen in, in milliseconds. */
  readonly lock: number;
  readonly requests: number;
  /** How often each answer other than 200 and 201 came, by status and kind of request. */
  readonly refused: Readonly<Record<string, number>>;
  /** The last acknowledged text of each record that was written, by identifier. */
  readonly written: ReadonlyMap<number, string>;
}

/** Statements of a migration wait for locks, too. */
const LOCKED = `select coalesce(max(extract(epoch from clock_timestamp() - state_change)) * 1000, 0)::float as waited
  from pg_stat_activity where datname = current_database() and application_name = 'records' and wait_event_type = 'Lock'
  and query !~* '^ *(alter|create|drop|lock|do|begin; *set local lock_timeout = 100)'`;
const LOOK = 20;

/** `path` is a list of `rows` records, or more, each with a text `title`. */
export async function waitedWhile(
  { url, path, rows, databaseUrl }: { url: string; path: string; rows: number; databaseUrl: string },
  meanwhile: () => Promise<void>,
): Promise<Waited> {
  const longest = { get: 0, list: 0, write: 0 };
  const refused: Record<string, number> = {};
  const written = new Map<number, string>();
  const over = new AbortController();
  let requests = 0;
  const some = (): number => 1 + Math.floor(Math.random() * rows);
  const send = async (kind: keyof Longest, title: string, body?: unknown) => {
    const began = performance.now();
    const answer = await ask(url, title, body).catch(() => undefined);
    longest[kind] = Math.max(longest[kind], performance.now() - began);
    requests += 1;
    const status = String(answer?.status ?? 'no answer');
    if (status !== '200' && status !== '201') refused[`${status} ${kind}`] = (refused[`${status} ${kind}`] ?? 0) + 1;
    return answer;
  };
  /** A record is written by one client at a time, so that the last acknowledged text is the one to find. */
  const busy = new Set<number>();
  const kinds = [
    () => send('get', `GET ${path}/${some()}`),
    () => send('list', `GET ${path}?_cnd[limit]=0&_cnd[limit]=20`),
    async () => {
      const id = some();
      const title = `written ${requests} ${Math.random()}`;
      if (busy.has(id)) return undefined;
      busy.add(id);
      const answer =
        requests % 3 === 0
          ? await send('write', `POST ${path}`, { title, code: 'c' })
          : await send('write', `PATCH ${path}/${id}`, { title });
      if (answer?.status === 200 || answer?.status === 201) written.set((answer.body as { id: number }).id, title);
      // Nobody knows which of the two texts is there.
      else if (answer === undefined) written.delete(id);
      busy.delete(id);
      return answer;
    },
  ];
  const client = async (kind: () => Promise<unknown>): Promise<void> => {
    while (!over.signal.aborted) {
      await kind();
      await pause(5);
    }
  };
  const watch = await connectTo(databaseUrl);
  let lock = 0;
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const found = await watch.query<{ waited: number }>(LOCKED);
      lock = Math.max(lock, found.rows[0]?.waited ?? 0);
      await pause(LOOK);
    }
  };
  const all = Promise.all([...kinds.map(client), look()]);
  try {
    await meanwhile();
  } finally {
    over.abort();
    await all;
    await watch.end();
  }
  return { longest, lock, requests, refused, written };
}
