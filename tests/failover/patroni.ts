/** A PostgreSQL cluster of three members that elect their leader, and HAProxy, which follows it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../chaos/instances.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';

export const isInstalled = ['patroni', 'etcd', 'haproxy'].every((name) => spawnSync('which', [name]).status === 0);

const SIZE = 3;
const POLL_MS = 200;
/** Milliseconds in which a member that was lost must be back; that takes `ttl`, and pg_rewind. */
const WHOLE_MS = 120_000;
/** Of the log of a member, where the cluster does not become whole. */
const TOLD_LINES = 15;

interface Member {
  readonly number: number;
  readonly rest: number;
  readonly sql: number;
  process: ChildProcess;
}

export class PatroniCluster {
  readonly #directory = mkdtempSync(join(tmpdir(), 'patroni-'));
  readonly #members: Member[] = [];
  #etcd: ChildProcess | undefined;
  #etcdPort = 0;
  #proxy: ChildProcess | undefined;
  #leader: Member | undefined;
  #isOver = false;
  #following: Promise<void> = Promise.resolve();
  /** Through the proxy. */
  url = '';
  /** Past the proxy: all members. */
  membersUrl = '';
  /** When a leader was found, in milliseconds of performance.now(). */
  readonly elected: { readonly at: number; readonly member: number }[] = [];

  async start(): Promise<void> {
    chmodSync(this.#directory, 0o755);
    const [etcd = 0, peer = 0, port = 0, ...ports] = await Promise.all(Array.from({ length: 3 + 2 * SIZE }, freePort));
    this.#etcdPort = etcd;
    this.#etcd = spawn('.ci/patroni', ['etcd', this.#directory, String(etcd), String(peer)], { stdio: 'ignore' });
    await until(() => answers(etcd, '/health'));
    for (let number = 1; number <= SIZE; number += 1) {
      const [rest = 0, sql = 0] = ports.slice(2 * (number - 1));
      this.#members.push({ number, rest, sql, process: this.#run(number, rest, sql) });
    }
    this.#proxy = this.#runProxy(port);
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    const hosts = this.#members.map(({ sql }) => `127.0.0.1:${sql}`);
    this.membersUrl = `postgres://postgres@${hosts.join()}/postgres`;
    this.#following = this.#follow();
    await this.untilWhole();
  }

  #run(number: number, rest: number, sql: number): ChildProcess {
    const ports = [this.#etcdPort, rest, sql].map(String);
    const log = openSync(this.#logOf(number), 'a');
    return spawn('.ci/patroni', ['start', this.#directory, String(number), ...ports], { stdio: ['ignore', log, log] });
  }

  /** As Patroni's documentation says, only faster. */
  #runProxy(port: number): ChildProcess {
    const file = join(this.#directory, 'haproxy.cfg');
    const servers = this.#members.map(
      ({ number, rest, sql }) => `  server member-${number} 127.0.0.1:${sql} check port ${rest}`,
    );
    const lines = [
      'defaults',
      '  mode tcp',
      '  timeout connect 2s',
      '  timeout client 30m',
      '  timeout server 30m',
      '  timeout check 500ms',
      'listen primary',
      `  bind 127.0.0.1:${port}`,
      '  option httpchk OPTIONS /primary',
      '  http-check expect status 200',
      `  default-server inter ${POLL_MS}ms fall 2 rise 1 on-marked-down shutdown-sessions`,
      ...servers,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    return spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  }

  #logOf(number: number): string {
    return join(this.#directory, `member-${number}.log`);
  }

  get leader(): number {
    return this.#leader?.number ?? 0;
  }

  /** Until there is a leader, and the others stream from it, one of them synchronously. */
  async untilWhole(): Promise<void> {
    const end = performance.now() + WHOLE_MS;
    await until(async () => {
      const states = await this.#states();
      const isWhole =
        states.filter((state) => /^(leader|sync_standby|replica) (running|streaming)$/.test(state)).length === SIZE &&
        states.some((state) => state.startsWith('sync_standby'));
      if (!isWhole && performance.now() > end) throw new Error(`The cluster is not whole: ${states}\n${this.#told()}`);
      return isWhole;
    });
  }

  async #states(): Promise<readonly string[]> {
    if (this.#leader === undefined) return [];
    const { text } = await exchange(urlOf(this.#leader.rest), 'GET /cluster', { patience: 2000 }).catch(NOTHING);
    const { members = [] } = JSON.parse(text || '{}') as { members?: { role: string; state: string }[] };
    return members.map(({ role, state }) => `${role} ${state}`);
  }

  /** What the members have logged last. */
  #told(): string {
    return this.#members
      .map(({ number }) =>
        readFileSync(this.#logOf(number), 'utf8').trimEnd().split('\n').slice(-TOLD_LINES).join('\n'),
      )
      .join('\n\n');
  }

  /** The leader hands over. */
  async switchOver(): Promise<void> {
    const leader = this.#leader as Member;
    const body = JSON.stringify({ leader: `member-${leader.number}` });
    await exchange(urlOf(leader.rest), 'POST /switchover', { body });
  }

  /** Patroni and all processes of PostgreSQL. */
  signal(number: number, signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    const { process: patroni } = this.#members[number - 1] as Member;
    for (const pid of [patroni.pid ?? 0, ...this.#backends(number)])
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended.
      }
  }

  #backends(number: number): readonly number[] {
    try {
      const postmaster = Number(
        readFileSync(join(this.#directory, `data-${number}`, 'postmaster.pid'), 'utf8').split('\n')[0],
      );
      const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ');
      return [postmaster, ...children.map(Number)];
    } catch {
      return [];
    }
  }

  restart(number: number): void {
    const member = this.#members[number - 1] as Member;
    member.process = this.#run(number, member.rest, member.sql);
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) {
      const found = await Promise.all(
        this.#members.map(async (one) => ((await answers(one.rest, '/primary')) ? one : undefined)),
      );
      const leader = found.find((one) => one !== undefined);
      if (leader !== this.#leader) {
        if (leader) this.elected.push({ at: performance.now(), member: leader.number });
      }
      this.#leader = leader;
      await pause(POLL_MS);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#following;
    for (const { number } of this.#members) {
      this.signal(number, 'SIGKILL');
    }
    this.#etcd?.kill('SIGKILL');
    this.#proxy?.kill('SIGKILL');
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

const NOTHING = () => ({ status: 0, text: '' });
const urlOf = (port: number): string => `http://127.0.0.1:${port}`;
const answers = async (port: number, path: string): Promise<boolean> =>
  (await exchange(urlOf(port), `GET ${path}`, { patience: 500 }).catch(NOTHING)).status === 200;
