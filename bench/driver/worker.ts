/** The driver's own process: builds the requests of a job beforehand, then sends them as fast as they are answered. */
import autocannon from 'autocannon';
import { dialects } from '../dialects.ts';
import { percentile } from '../statistics.ts';
import { requestsWork } from '../requests/work.ts';
import { rowsWork } from '../scale/rows-work.ts';
import { typesWork } from '../scale/types-work.ts';
import { shippedWork } from '../shipped/work.ts';
import { type Request, sent, work } from '../work.ts';
import { assist } from './assistant.ts';
import type { Job, Outcome } from './job.ts';

type Prepared = autocannon.Prepared;

const SAMPLE_MS = 20;
/** Seconds that an answer may take: on a busy machine a process may wait long for its turn. */
const TIMEOUT = 120;

const prepared = (request: Request): Prepared => ({ method: request.method, path: request.path, ...sent(request) });

/** The requests of each connection. */
function shares({ dialect, work: name, world, connections, first, amount }: Job): Prepared[][] {
  const wanted = [...work, ...requestsWork, ...rowsWork, ...shippedWork, ...typesWork].find((one) => one.name === name);
  if (!wanted) throw new Error(`there is no work "${name}"`);
  const share = (connection: number): Prepared[] =>
    Array.from({ length: Math.ceil((amount - connection) / connections) }, (_, index) =>
      prepared(wanted.request(dialects[dialect], first + connection + index * connections, world)),
    );
  return Array.from({ length: connections }, (_, connection) => share(connection));
}

async function drive(job: Job): Promise<Outcome> {
  const { url, connections, amount } = job;
  const waiting = shares(job);
  const setupClient = (client: autocannon.Client): void => client.setRequests(waiting.shift() ?? []);
  const times: number[] = [];
  // Before the first answer, the driver is busy with itself.
  let began = 0;
  let end = 0;
  const run = autocannon({ url, connections, amount, sampleInt: SAMPLE_MS, timeout: TIMEOUT, setupClient });
  run.on('response', (_client, _status, _bytes, milliseconds) => {
    end = performance.now();
    began ||= end;
    times.push(milliseconds);
  });
  const { errors, non2xx } = await run;
  return {
    seconds: (end - began) / 1000,
    failures: errors + non2xx + amount - times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
  };
}

assist(drive);
