/** Three instances are replaced one after the other, by newer descriptors and back again, under load: no request fails. */
import { freePort, Instance } from '../chaos/instances.ts';
import { openBuild } from '../support/compiled.ts';
import { createDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { onServer } from '../support/postgres.ts';

const CLIENTS = 6;
const JSON_BODY = { 'content-type': 'application/json' };

/** Gives requests to the instances that it has, in turn, as a load balancer does. */
class Balancer {
  readonly within = new Set<Instance>();
  /** Requests that are not answered yet. */
  readonly #open = new Map<Instance | undefined, number>();
  #turn = 0;

  async send(title: string, parts: Parameters<typeof exchange>[2] = {}): Promise<Exchanged> {
    const all = [...this.within];
    const instance = all[(this.#turn += 1) % all.length];
    this.#count(instance, 1);
    return exchange(instance?.target.url ?? '', title, parts).finally(() => this.#count(instance, -1));
  }

  #count(instance: Instance | undefined, more: number): void {
    this.#open.set(instance, (this.#open.get(instance) ?? 0) + more);
  }

  /** As a deployment does it: no new requests, stop, start, and requests again once it is ready. */
  async replace(instance: Instance, version: 'first' | 'second'): Promise<void> {
    this.within.delete(instance);
    // A connection that the system has, but the instance has not accepted yet, would be reset.
    await until(() => (this.#open.get(instance) ?? 0) === 0);
    await instance.renew('SIGTERM', version);
    await until(async () => (await exchange(instance.target.url, 'GET /health/ready')).status === 200);
    this.within.add(instance);
  }
}

interface Register {
  readonly id: number;
  readonly stamp: string;
}

class Load {
  readonly #balancer: Balancer;
  readonly failed: string[] = [];
  /** The last acknowledged stamp of each record. */
  readonly stored = new Map<number, string>();
  done = 0;
  #isOver = false;

  constructor(balancer: Balancer) {
    this.#balancer = balancer;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => this.#client(number)));
  }

  end(): void {
    this.#isOver = true;
  }

  async more(count: number): Promise<void> {
    const enough = this.done + count;
    await until(() => this.done >= enough);
  }

  async #client(number: number): Promise<void> {
    for (let round = 0; !this.#isOver; round += 1) {
      const stamp = `${number}-${round}`;
      const made = await this.#send('POST /api/registers', 201, { stamp });
      if (made === undefined) continue;
      const path = `/api/registers/${made.id}`;
      this.stored.set(made.id, made.stamp);
      await this.#send(`GET ${path}`, 200);
      const changed = await this.#send(`PUT ${path}`, 200, { stamp: `${stamp}+`, left: 'new' });
      if (changed) this.stored.set(made.id, changed.stamp);
      await this.#send('GET /api/registers?_cnd[limit]=0&_cnd[limit]=5&_cnd[orderBy]=stamp', 200);
      if (round % 2 === 0 && (await this.#send(`DELETE ${path}`, 200))) this.stored.delete(made.id);
    }
  }

  async #send(title: string, status: number, body?: object): Promise<Register | undefined> {
    const parts = body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) };
    const answer = await this.#balancer.send(title, parts).catch((error: unknown) => ({
      status: 0,
      text: String(error),
    }));
    this.done += 1;
    if (answer.status === status) return JSON.parse(answer.text) as Register;
    this.failed.push(`${title}: ${answer.status} ${answer.text}`);
    return undefined;
  }
}

onServer('three instances', () => {
  test('from the first version to the second, back, and forward again: 0 failed requests', async () => {
    const compiled = openBuild();
    const database = await createDatabase('postgres');
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const environment = { DATABASE_URL: database.url, SHUTDOWN_TIMEOUT: '60' };
    const instances = ports.map((port, at) => new Instance(compiled, 'ABC'[at] ?? '', port, environment));
    const balancer = new Balancer();
    const load = new Load(balancer);
    try {
      for (const instance of instances) await balancer.replace(instance, 'first');
      const running = load.run();
      for (const version of ['second', 'first', 'second'] as const) {
        for (const instance of instances) {
          await load.more(60);
          await balancer.replace(instance, version);
        }
      }
      await load.more(60);
      load.end();
      await running;
      expect(load.failed).toEqual([]);
      const { text } = await balancer.send('GET /api/registers');
      const found = new Map((JSON.parse(text) as Register[]).map(({ id, stamp }) => [id, stamp]));
      expect(found).toEqual(load.stored);
    } finally {
      load.end();
      await Promise.all(instances.map((instance) => instance.end()));
      await compiled.stop();
      await database.remove();
    }
  });
});
