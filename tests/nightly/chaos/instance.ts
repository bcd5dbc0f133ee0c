/** An instance of the compiled service under a supervisor that starts it again, as systemd or Kubernetes would. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Compiled, type Environment, type Running, urlOf } from '../../support/compiled.ts';
import { freePort } from '../../support/free-port.ts';

const RESTART_MS = 200;
/** A start that takes longer never ends. */
const START_MS = 180_000;

export interface Instance {
  readonly name: string;
  readonly url: string;
  readonly isUp: boolean;
  /** What it printed when it ended without being told to, or did not start. */
  readonly ends: readonly string[];
  start(): Promise<void>;
  renew(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  end(): Promise<void>;
}

export async function createInstance(compiled: Compiled, name: string, environment: Environment): Promise<Instance> {
  const port = await freePort();
  const ends: string[] = [];
  let running: Running | undefined;
  let isUp = false;
  let isWanted = false;
  let turn = Promise.resolve();

  /** Two faults may choose the same instance. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function start(): Promise<void> {
    isWanted = true;
    const limit = Date.now() + START_MS;
    for (;;) {
      if (!isWanted || isUp) return;
      if (Date.now() > limit) throw new Error(`${name} does not start: ${ends.at(-1)}`);
      const mine = compiled.run('server.js', [], { ...environment, PORT: String(port) });
      running = mine;
      void mine.ended.then(() => ended(mine));
      await urlOf(mine).then(
        () => (isUp = mine.child.exitCode === null && mine.child.signalCode === null),
        () => pause(RESTART_MS),
      );
    }
  }

  function ended(mine: Running): void {
    if (running !== mine) return;
    const wasUp = isUp;
    isUp = false;
    if (!isWanted) return;
    ends.push(`${name} ${wasUp ? 'ended by itself' : 'did not start'}: ${mine.out()}${mine.err()}`);
    if (wasUp) inTurn(start).catch(() => undefined);
  }

  const signal = (how: NodeJS.Signals): void => void running?.child.kill(how);
  async function stop(how: NodeJS.Signals): Promise<void> {
    isWanted = false;
    isUp = false;
    // A frozen process does not hear SIGTERM.
    signal('SIGCONT');
    signal(how);
    await running?.ended;
  }

  return {
    name,
    url: `http://127.0.0.1:${port}`,
    ends,
    get isUp() {
      return isUp;
    },
    start: () => inTurn(start),
    renew: (how) => inTurn(() => stop(how).then(start)),
    signal,
    end: () => {
      isWanted = false;
      return inTurn(() => stop('SIGKILL'));
    },
  };
}
