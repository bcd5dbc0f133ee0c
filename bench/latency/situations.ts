/** What a server has to do beside the requests whose answers are waited for. */
import { dialects } from '../dialects.ts';
import type { Assistant } from '../driver/assistant.ts';
import type { Driver } from '../driver/driver.ts';
import type { Read, Reading } from '../driver/list-reader.ts';
import type { Running } from '../process.ts';
import { figure } from '../report/table.ts';

/** Processes that give way to the one whose answers are timed. */
export interface Crowd {
  readonly driver: Driver;
  readonly reader: Assistant<Reading, Read>;
}

export interface Situation {
  readonly name: string;
  /** Whether lists without an end are part of it. */
  readonly streams: boolean;
  /** Keeps the server busy so long, and answers how much it did in a second. */
  run(server: Running, crowd: Crowd, seconds: number): Promise<string>;
}

const streaming = (name: string, query: string): Situation => ({
  name,
  streams: true,
  run: async ({ contender, url }, { reader }, seconds) => {
    const path = dialects[contender.dialect].path('items');
    const read = await reader.ask({ url: `${url}${path}${query}`, seconds });
    return `${figure(read.records / read.seconds)} records/s`;
  },
});

const WRITERS = 16;
/** Requests are built beforehand, while nothing is written: for so long. */
const SECONDS_BUILT = 2;

async function create({ contender, url }: Running, { driver }: Crowd, seconds: number): Promise<string> {
  const until = performance.now() + seconds * 1000;
  const { dialect } = contender;
  const world = { rows: 0, spare: 0 };
  let [first, spent, amount] = [0, 0, WRITERS];
  for (let left = seconds; left > 0; left = (until - performance.now()) / 1000) {
    const job = { url, dialect, work: 'create', world, connections: WRITERS, first, amount };
    const outcome = await driver.ask(job);
    if (outcome.failures > 0) throw new Error(`${contender.name}: ${outcome.failures} of ${amount} creates failed`);
    first += amount;
    spent += outcome.seconds;
    amount = Math.ceil((first / spent) * Math.min(left, SECONDS_BUILT));
  }
  return `${figure(first / spent)} creates/s`;
}

export const situations: readonly Situation[] = [
  { name: 'alone', streams: false, run: async () => '-' },
  streaming('whole list streams', ''),
  streaming('… in an order without an index', '?_cnd[orderBy]=quantity'),
  { name: `${WRITERS} connections create`, streams: false, run: create },
];
