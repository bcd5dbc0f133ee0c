/** Which of several servers connections lead to: the first that is what `target_session_attrs` asks for, and stays so. */
import type { PostgresPlace, SessionAttributes } from './place.ts';
import { type Seen, type Watch, watchServer } from './watch.ts';

export interface Hosts {
  /** The server that new connections lead to. */
  readonly url: string;
  /** Resolves when `url` is known; rejects if no server will do. */
  ready(): Promise<void> | undefined;
  /** Looks at once whether the servers are still what they were. */
  look(): Promise<void>;
  /** Called when connections to a server are no longer wanted; `isLost` if it does not answer either. */
  onLeft(listener: (url: string, isLost: boolean) => void): void;
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

export function createHosts({ urls, attributes }: PostgresPlace): Hosts {
  const [only = ''] = urls;
  if (urls.length === 1 && attributes === 'any') return ONE(only);
  const listeners: ((url: string, isLost: boolean) => void)[] = [];
  let current: Watch | undefined;

  const isSuited = ({ seen }: Watch): boolean => seen !== undefined && suits[attributes](seen);
  const watches = urls.map((url) => watchServer(url, choose));
  const answering = ({ seen }: Watch): boolean => attributes === 'prefer-standby' && seen !== undefined;

  /** One that does not answer is kept as long as no other will do: it may only be slow. */
  function choose(): void {
    if (current && isSuited(current)) return;
    const next = watches.find(isSuited) ?? watches.find(answering);
    const left = current;
    if (next === left || (next === undefined && left?.seen === undefined)) return;
    current = next;
    if (left) for (const listener of listeners) listener(left.url, left.seen === undefined);
  }

  const look = async (): Promise<void> => void (await Promise.all(watches.map((watch) => watch.look())));

  return {
    get url() {
      return current?.url ?? only;
    },
    ready: () => (current ? undefined : look().then(requireCurrent)),
    look,
    onLeft: (listener) => void listeners.push(listener),
    close: () => {
      for (const watch of watches) watch.close();
    },
  };

  function requireCurrent(): void {
    if (current) return;
    const words = watches.map(({ url, seen }) => `${new URL(url).host} ${stateOf(seen)}`).join(', ');
    throw Object.assign(new Error(`none of the servers is ${attributes} (target_session_attrs): ${words}`), {
      code: 'EHOSTUNREACH',
    });
  }
}

function stateOf(seen: Seen | undefined): string {
  if (seen === undefined) return 'does not answer';
  return seen.isStandby ? 'is a standby' : `is ${seen.isReadOnly ? 'a read-only' : 'the'} primary`;
}

const ONE = (url: string): Hosts => ({
  url,
  ready: () => undefined,
  look: async () => undefined,
  onLeft: () => undefined,
  close: () => undefined,
});
