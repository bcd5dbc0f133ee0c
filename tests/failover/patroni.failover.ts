/**
 * Two instances on a cluster that loses its leader: by a switchover, killed, and frozen. Both write through HAProxy, which
 * follows the leader, and the second reads from all members (READ_URL). No acknowledged write is lost, and both take writes
 * again soon after the cluster does. The reads of the second never stop, and a client that sends its position always sees
 * its own writes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { isInstalled, PatroniCluster } from './patroni.ts';

/** Milliseconds that the service may add to what the cluster itself is without a leader. */
const MOST_ADDED = 4000;
/** Milliseconds that a read may take at most, where replicas answer reads. */
const LONGEST_READ = 3000;
/** The same where no replica has yet what the client wrote: a frozen primary is asked until STATEMENT_TIMEOUT is over. */
const LONGEST_OWN_READ = 8000;
const JSON_BODY = { 'content-type': 'application/json' };

type Answered = 'success' | { readonly refused: string };

/** A client that sends one request after another until it is told to end. */
class Loop {
  /** What else was answered. */
  readonly refused = new Map<string, number>();
  /** The longest time between two successes. */
  gap = 0;
  successes = 0;
  #last = performance.now();
  #isOver = false;

  #success(): void {
    this.gap = Math.max(this.gap, performance.now() - this.#last);
    this.#last = performance.now();
  }

  async run(work: () => Promise<Answered>): Promise<void> {
    this.#last = performance.now();
    while (!this.#isOver) {
      const answer = await work().catch(({ message }: Error): Answered => ({ refused: message }));
      if (answer === 'success') {
        this.successes += 1;
        this.#success();
      } else this.refused.set(answer.refused, (this.refused.get(answer.refused) ?? 0) + 1);
      await pause(20);
    }
  }

  end(): void {
    this.#isOver = true;
    this.#success();
  }

  get told(): string {
    return [...this.refused].map(([answer, count]) => `${count} times ${answer}`).join(', ') || 'nothing else';
  }
}

/** What a client wrote, and where it stands in the log. */
interface Written {
  readonly value: string;
  readonly path: string;
  readonly position: string | undefined;
}

/** The clients of one instance. */
class Clients {
  readonly writer = new Loop();
  /** Of a page, without a position. */
  readonly reader = new Loop();
  /** Of the record that was written last, with its position. */
  readonly own = new Loop();
  readonly acknowledged: Written[] = [];
  readonly #url: string;
  readonly #name: string;

  constructor(url: string, name: string) {
    this.#url = url;
    this.#name = name;
  }

  get loops(): readonly Loop[] {
    return [this.writer, this.reader, this.own];
  }

  run(): readonly Promise<void>[] {
    return [
      this.writer.run(() => this.#write()),
      this.reader.run(() => this.#read()),
      this.own.run(() => this.#readOwn()),
    ];
  }

  async #write(): Promise<Answered> {
    const value = `${this.#name} ${this.acknowledged.length} ${performance.now()}`;
    const body = JSON.stringify({ value });
    const { status, headers } = await exchange(this.#url, 'POST /api/tmp-vars', {
      headers: JSON_BODY,
      patience: 30_000,
      body,
    });
    if (status !== 201) return { refused: String(status) };
    const position = headers['x-position'];
    this.acknowledged.push({ value, path: headers.location ?? '', position: position?.toString() });
    return 'success';
  }

  async #read(): Promise<Answered> {
    const { status } = await exchange(this.#url, 'GET /api/tmp-vars?_cnd[limit]=0&_cnd[limit]=1', { patience: 30_000 });
    return status === 200 ? 'success' : { refused: String(status) };
  }

  async #readOwn(): Promise<Answered> {
    const last = this.acknowledged.at(-1);
    if (last === undefined) return 'success';
    const headers: Record<string, string> = last.position === undefined ? {} : { 'x-position': last.position };
    const { status, text } = await exchange(this.#url, `GET ${last.path}`, { headers, patience: 30_000 });
    if (status === 404) return { refused: `404, though it was acknowledged at ${last.position}` };
    if (status !== 200) return { refused: String(status) };
    const { value } = JSON.parse(text) as { value: string };
    return value === last.value ? 'success' : { refused: `${value} instead of ${last.value}` };
  }

  /** What is missing of what was acknowledged, and what is there twice. */
  async judge(): Promise<{ readonly lost: readonly string[]; readonly doubled: number }> {
    const position = this.acknowledged.at(-1)?.position;
    const { text } = await exchange(this.#url, `GET /api/tmp-vars?fields=value&_cnd[value][like]=${this.#name}*`, {
      headers: position === undefined ? {} : { 'x-position': position },
    });
    const stored = (JSON.parse(text) as { value: string }[]).map(({ value }) => value);
    const lost = this.acknowledged.map(({ value }) => value).filter((value) => !stored.includes(value));
    return { lost, doubled: stored.length - new Set(stored).size };
  }

  get summary(): string {
    const { writer, reader, own } = this;
    const gaps = this.loops.map(({ gap }) => Math.round(gap));
    return (
      `writes stopped for ${gaps[0]} ms, reads for ${gaps[1]} ms, those of a client's own for ${gaps[2]} ms; ` +
      `${this.acknowledged.length} writes, ${reader.successes} and ${own.successes} reads; ` +
      `writers were told ${writer.told}; readers ${reader.told}; those of their own ${own.told}`
    );
  }
}

(isInstalled ? describe : describe.skip)(
  'Patroni (skipped where .ci/install patroni etcd-server haproxy was not run)',
  () => {
    const compiled = useCompiled();
    const cluster = new PatroniCluster();
    let proxied: string;
    let replicated: string;
    beforeAll(async () => {
      await cluster.start();
      const start = (environment: Readonly<Record<string, string>>): Promise<string> =>
        urlOf(compiled.run('server.js', [], { PORT: '0', STATEMENT_TIMEOUT: '5', ...environment }));
      proxied = await start({ DATABASE_URL: cluster.url });
      replicated = await start({ DATABASE_URL: cluster.url, READ_URL: cluster.membersUrl });
    });
    afterAll(() => cluster.stop());

    /** A client of the cluster itself, past the service: how long the cluster takes no writes. */
    const probe = async (): Promise<Answered> => {
      const client = new Client({ connectionString: cluster.url, connectionTimeoutMillis: 1000, query_timeout: 1000 });
      client.on('error', () => undefined);
      const asked = client
        .connect()
        .then(() => client.query('create table if not exists probe (at timestamptz); insert into probe values (now())'))
        .then((): Answered => 'success');
      try {
        return await Promise.race([asked, pause(2000, { refused: 'no answer' })]);
      } finally {
        // Where the connection is broken, these may never resolve.
        asked.catch(() => undefined);
        void client.end().catch(() => undefined);
      }
    };

    /** `work` takes the leader away, and `back` brings it back while clients go on. */
    async function during(
      name: string,
      work: (before: number) => Promise<void>,
      back?: (before: number) => Promise<void>,
    ): Promise<void> {
      await cluster.untilWhole();
      const bare = new Loop();
      const [first, second] = [new Clients(proxied, `${name}-proxied`), new Clients(replicated, `${name}-replicated`)];
      const isBeyond = (more: number): Promise<void> => {
        const enough = [first, second].map(({ acknowledged }) => acknowledged.length + more);
        return until(() => [first, second].every(({ acknowledged }, at) => acknowledged.length > (enough[at] ?? 0)));
      };
      const running = [...first.run(), ...second.run(), bare.run(probe)];
      await isBeyond(20);
      const before = cluster.leader;
      await work(before);
      await until(() => cluster.leader !== 0 && cluster.leader !== before);
      await isBeyond(50);
      if (back) {
        await back(before);
        await isBeyond(50);
      }
      for (const client of [...first.loops, ...second.loops, bare]) client.end();
      await Promise.all(running);
      console.info(
        `${name}: the cluster itself took no writes for ${Math.round(bare.gap)} ms\n` +
          `through a proxy: ${first.summary}\nwith READ_URL: ${second.summary}`,
      );
      for (const clients of [first, second]) {
        expect(await clients.judge()).toEqual({ lost: [], doubled: 0 });
        const others = clients.loops.flatMap(({ refused }) => [...refused.keys()]);
        expect(others.filter((answer) => !['503', '504'].includes(answer))).toEqual([]);
        expect(clients.writer.gap - bare.gap).toBeLessThan(MOST_ADDED);
      }
      for (const { refused } of [second.reader, second.own]) expect([...refused]).toEqual([]);
      expect(second.reader.gap).toBeLessThan(LONGEST_READ);
      expect(second.own.gap).toBeLessThan(LONGEST_OWN_READ);
    }

    test('switchover', () => during('switchover', () => cluster.switchOver()));

    test('the leader is killed', async () => {
      let killed = 0;
      try {
        await during('killed', async (leader) => {
          killed = leader;
          cluster.signal(leader, 'SIGKILL');
        });
      } finally {
        if (killed > 0) cluster.restart(killed);
      }
    });

    test('the leader is frozen, and comes back as if it still led', async () => {
      let frozen = 0;
      const thaw = async (): Promise<void> => {
        if (frozen > 0) cluster.signal(frozen, 'SIGCONT');
        frozen = 0;
      };
      try {
        await during(
          'frozen',
          async (leader) => {
            frozen = leader;
            cluster.signal(leader, 'SIGSTOP');
          },
          async () => {
            await thaw();
            await cluster.untilWhole();
          },
        );
      } finally {
        await thaw();
      }
    });
  },
);
