/** The driver, a process of its own: sends the requests of a job as fast as they are answered. */
import autocannon from 'autocannon';
import { type Request, work } from './work.ts';

export interface Job {
  readonly url: string;
  readonly byHand: boolean;
  /** The name of the work. */
  readonly work: string;
  readonly rows: number;
  readonly connections: number;
  /** The requests `first` to `first + amount - 1` are shared out among the connections. */
  readonly first: number;
  readonly amount: number;
}

export interface Outcome {
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Requests with another answer than 2xx, or without any. */
  readonly failures: number;
}

const TIMEOUT_SECONDS = 120;
const SAMPLE_MS = 20;

export const sent = ({ method, path, byHand, body }: Request, isByHand: boolean) => ({
  method,
  path: isByHand ? (byHand ?? path) : path,
  ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
});

async function drive({ url, byHand, work: name, rows, connections, first, amount }: Job): Promise<Outcome> {
  const wanted = work.find((one) => one.name === name);
  if (wanted === undefined) throw new Error(`there is no work "${name}"`);
  const shares = Array.from({ length: connections }, (_, connection) =>
    Array.from({ length: Math.ceil((amount - connection) / connections) }, (__, index) =>
      sent(wanted.request(first + connection + index * connections, rows), byHand),
    ),
  );
  const times: number[] = [];
  let [began, ended] = [0, 0];
  const setupClient = (client: autocannon.Client): void => client.setRequests(shares.shift() ?? []);
  const run = autocannon({ url, connections, amount, sampleInt: SAMPLE_MS, timeout: TIMEOUT_SECONDS, setupClient });
  run.on('response', (_client, _status, _bytes, milliseconds) => {
    ended = performance.now();
    // Before the first answer, the driver is busy with itself.
    began ||= ended;
    times.push(milliseconds);
  });
  const { errors, non2xx } = await run;
  times.sort((one, other) => one - other);
  const percentile = (part: number): number => times[Math.floor(part * times.length)] ?? Number.NaN;
  return {
    seconds: (ended - began) / 1000,
    p50: percentile(0.5),
    p99: percentile(0.99),
    failures: errors + non2xx + amount - times.length,
  };
}

if (require.main === module)
  process.on('message', (job: Job) => {
    drive(job).then(
      (outcome) => process.send?.({ outcome }),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
