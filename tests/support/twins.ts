/** One service on each database that is there: they are sent the same requests, and must give the same answers. */
import type { Model } from '../../engine/model/model.ts';
import type { ReceivedAnswer, Client, Sent } from '../oracle/client.ts';
import { databaseKinds } from './databases.ts';
import { createRenamer, type Rename, withoutQuery } from './renamed.ts';
import { type Bench, openBench } from './replaying.ts';

export interface Twins {
  readonly benches: readonly Bench[];
  /** Does the same work on each, and compares what was answered meanwhile. */
  both(work: (bench: Bench) => Promise<void>): Promise<void>;
  danglingRows(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

interface Twin {
  readonly bench: Bench;
  readonly rename: Rename;
  readonly exchanged: Exchanged[];
}

type Exchanged = readonly [sent: Sent, answer: ReceivedAnswer];

interface TwinOptions {
  /**
   * Their identifiers may have another order, as after writes that were undone: then records and keys may come in any, and
   * pages may end between others.
   */
  readonly inAnyOrder?: boolean;
}

export async function openTwins(
  schemaDirectory: string,
  model: Model,
  { inAnyOrder = false }: TwinOptions = {},
): Promise<Twins> {
  const twins: Twin[] = [];
  for (const kind of databaseKinds) {
    const exchanged: Exchanged[] = [];
    let sends = 0;
    const recording = (client: Client): Client => recorded(client, exchanged, () => (sends += 1));
    // Each request has a time of its own, the same on each database.
    const clock = (): Date => new Date(START + sends * 1000);
    const bench = await openBench(schemaDirectory, model, { kind, recording, settings: { clock } });
    twins.push({ bench, rename: createRenamer(model), exchanged });
  }
  const both = async (work: (bench: Bench) => Promise<void>): Promise<void> => {
    for (const { exchanged } of twins) exchanged.length = 0;
    await Promise.all(twins.map(({ bench }) => work(bench)));
    compare(twins, inAnyOrder ? unordered : told);
  };
  const benches = twins.map(({ bench }) => bench);
  return {
    benches,
    both,
    danglingRows: async () => (await Promise.all(benches.map(({ observer }) => observer.danglingRows()))).flat(),
    close: async () => void (await Promise.all(benches.map((bench) => bench.close()))),
  };
}

export const START = Date.UTC(2030, 0, 1);

const recorded = (client: Client, exchanged: Exchanged[], count: () => void): Client => ({
  ...client,
  send: async (sent) => {
    count();
    const answer = await client.send(sent);
    exchanged.push([sent, answer]);
    return answer;
  },
});

type Told = (twin: Twin, exchanged: Exchanged) => string;

const told: Told = ({ rename }, [sent, answer]) =>
  `${sent.method} ${withoutQuery(sent.path).replace(/\/\d+/, '/…')} ${rename(sent, answer)}`;

const unordered: Told = (twin, [sent, answer]) =>
  sent.path.includes('_cnd[limit]')
    ? `${answer.status}`
    : told(twin, [sent, answer])
        .split(/[,{}[\]]/)
        .toSorted()
        .join('\n');

function compare([one, ...others]: readonly Twin[], compared: Told): void {
  if (!one || others.length === 0) return;
  const toldBy = (twin: Twin): readonly string[] => twin.exchanged.map((exchanged) => compared(twin, exchanged));
  for (const other of others) expect(toldBy(other)).toEqual(toldBy(one));
}
