/**
 * The service on a cluster that loses its leader: by a switchover, killed, and frozen. No acknowledged write is lost, and
 * the service takes writes again soon after the cluster does.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { ask } from '../support/ask.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { isInstalled, PatroniCluster } from './patroni.ts';

/** Milliseconds that the service may add to what the cluster itself is without a leader. */
const MOST_ADDED = 4000;
const JSON_BODY = { 'content-type': 'application/json' };

class Loop {
  readonly acknowledged: string[] = [];
  /** What else was answered. */
  readonly refused = new Map<string, number>();
  /** The longest time between two successes. */
  gap = 0;
  #last = performance.now();
  #isOver = false;

  success(): void {
    this.gap = Math.max(this.gap, performance.now() - this.#last);
    this.#last = performance.now();
  }

  async run(work: () => Promise<string | undefined>): Promise<void> {
    this.#last = performance.now();
    while (!this.#isOver) {
      const answer = await work().catch(() => 'no answer');
      if (answer === undefined) this.success();
      else this.refused.set(answer, (this.refused.get(answer) ?? 0) + 1);
      await pause(20);
    }
  }

  end(): void {
    this.#isOver = true;
    this.success();
  }
}

(isInstalled ? describe : describe.skip)('Patroni (skipped where .ci/install patroni etcd-server was not run)', () => {
  const compiled = useCompiled();
  const cluster = new PatroniCluster();
  let url: string;
  beforeAll(async () => {
    await cluster.start();
    url = await urlOf(compiled.run('server.js', [], { PORT: '0', DATABASE_URL: cluster.url, STATEMENT_TIMEOUT: '5' }));
  });
  afterAll(() => cluster.stop());

  const write = (name: string, client: Loop) => async (): Promise<string | undefined> => {
    const value = `${name} ${client.acknowledged.length} ${performance.now()}`;
    const { status } = await exchange(url, 'POST /api/tmp-vars', {
      headers: JSON_BODY,
      patience: 30_000,
      body: JSON.stringify({ value }),
    });
    if (status !== 201) return String(status);
    client.acknowledged.push(value);
    return undefined;
  };
  const read = async (): Promise<string | undefined> => {
    const { status } = await exchange(url, 'GET /api/tax-classes?_cnd[limit]=0&_cnd[limit]=1');
    return status === 200 ? undefined : String(status);
  };

  /** A client of the cluster itself, past the service: how long the cluster takes no writes. */
  const probe = async (): Promise<string | undefined> => {
    const client = new Client({ connectionString: cluster.url, connectionTimeoutMillis: 1000, query_timeout: 1000 });
    client.on('error', () => undefined);
    const asked = client
      .connect()
      .then(() => client.query('create table if not exists probe (at timestamptz); insert into probe values (now())'))
      .then(() => undefined);
    try {
      return await Promise.race([asked, pause(2000, 'no answer')]);
    } finally {
      // Where the connection is broken, these may never resolve.
      asked.catch(() => undefined);
      void client.end().catch(() => undefined);
    }
  };

  async function during(name: string, work: (before: number) => Promise<void>): Promise<void> {
    await cluster.untilWhole();
    const [writer, reader, bare] = [new Loop(), new Loop(), new Loop()];
    const running = [writer.run(write(name, writer)), reader.run(read), bare.run(probe)];
    await until(() => writer.acknowledged.length > 20);
    const before = cluster.leader;
    await work(before);
    await until(() => cluster.leader !== 0 && cluster.leader !== before);
    const enough = writer.acknowledged.length + 50;
    await until(() => writer.acknowledged.length > enough);
    for (const client of [writer, reader, bare]) client.end();
    await Promise.all(running);
    const { body } = await ask(url, `GET /api/tmp-vars?fields=value&_cnd[value][like]=${name}*`);
    const stored = (body as { value: string }[]).map(({ value }) => value);
    const lost = writer.acknowledged.filter((value) => !stored.includes(value));
    const told = [writer, reader].map(({ refused }) =>
      [...refused].map(([answer, count]) => `${count} times ${answer}`).join(', '),
    );
    console.info(
      `${name}: writes stopped for ${Math.round(writer.gap)} ms, reads for ${Math.round(reader.gap)} ms, the cluster itself for ${Math.round(bare.gap)} ms; ` +
        `${writer.acknowledged.length} writes acknowledged; writers were told ${told[0]}, readers ${told[1]}`,
    );
    expect({ lost, doubled: stored.length - new Set(stored).size }).toEqual({ lost: [], doubled: 0 });
    expect(
      [...writer.refused.keys(), ...reader.refused.keys()].filter((answer) => !['503', '504'].includes(answer)),
    ).toEqual([]);
    expect(writer.gap - bare.gap).toBeLessThan(MOST_ADDED);
  }

  test('switchover', () => during('switchover', () => cluster.switchOver()));

  test('the leader is killed', async () => {
    let killed = 0;
    await during('killed', async (leader) => {
      killed = leader;
      cluster.signal(leader, 'SIGKILL');
    });
    cluster.restart(killed);
  });

  test('the leader is frozen', async () => {
    let frozen = 0;
    await during('frozen', async (leader) => {
      frozen = leader;
      cluster.signal(leader, 'SIGSTOP');
    });
    cluster.signal(frozen, 'SIGCONT');
  });
});
