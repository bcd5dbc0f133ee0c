/** A rolling deploy and its way back, on three instances under load: no request fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { openBuild } from '../support/compiled.ts';
import { createDatabase } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { onServer } from '../support/postgres.ts';

const DESCRIPTORS: Readonly<Record<string, string>> = {
  'schema/book.yaml': `type: Book
fields:
  title: { type: string, required: true, maxLength: 100 }
  shelf: { type: integer }
`,
  'next/book.yaml': `type: Book
fields:
  title: { type: string, required: true, maxLength: 200 }
  isbn: { type: string, index: true }
`,
};

const replaceBy = (schema: string): string => `
PORT=3001
kill "$(cat run/$PORT.pid)"
while curl --silent --output /dev/null http://127.0.0.1:$PORT/health/live; do sleep 0.2; done
PORT=$PORT SCHEMA_DIR=${schema} node dist/server.js >>run/$PORT.log 2>&1 &
echo $! >run/$PORT.pid
until curl --silent --fail --output /dev/null http://127.0.0.1:$PORT/health/ready; do sleep 0.2; done
`;

const look = 'SCHEMA_DIR=next npx records plan';
const expand = 'SCHEMA_DIR=next npx records apply';
const deploy = replaceBy('next');
const goBack = replaceBy('schema');
const contract = `SCHEMA_DIR=next npx records plan
SCHEMA_DIR=next npx records apply --allow drop-field:Book.shelf`;

const CLIENTS = 3;
/** Only for a test that would never end: ten starts and nine stops take a minute. */
const TIME = 900_000;
const JSON_BODY = { 'content-type': 'application/json' };

/** Replaces npm by what is already built. */
const NPX = `#!/bin/sh
shift
exec node dist/engine/cli.js "$@"
`;

/** The folder of the deployment: descriptors of both versions, what was built, and whatever the commands leave. */
class Deployment {
  readonly directory = mkdtempSync(join(tmpdir(), 'rolling-'));
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(build: string, databaseUrl: string) {
    for (const folder of ['run', 'bin']) mkdirSync(join(this.directory, folder));
    symlinkSync(build, join(this.directory, 'dist'));
    writeFileSync(join(this.directory, 'bin/npx'), NPX);
    chmodSync(join(this.directory, 'bin/npx'), 0o755);
    for (const [file, text] of Object.entries(DESCRIPTORS)) {
      mkdirSync(join(this.directory, dirname(file)), { recursive: true });
      writeFileSync(join(this.directory, file), text);
    }
    this.#environment = {
      ...process.env,
      PATH: [join(this.directory, 'bin'), dirname(process.execPath), process.env['PATH']].join(':'),
      DATABASE_URL: databaseUrl,
      MIGRATE: 'off',
      DRAIN_DELAY: '3',
    };
  }

  async run(commands: string, port = 3001): Promise<readonly [code: unknown, out: string]> {
    const text = `set -u\n${commands.replaceAll('3001', String(port))}`;
    const child = spawn('bash', ['-c', text], { cwd: this.directory, env: this.#environment });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (out += String(piece)));
    const [code] = (await once(child, 'exit')) as readonly unknown[];
    return [code, out];
  }

  remove(): void {
    for (const file of readdirSync(join(this.directory, 'run')).filter((name) => name.endsWith('.pid')))
      kill(Number(readFileSync(join(this.directory, 'run', file), 'utf8')));
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

interface Book {
  readonly id: number;
  readonly title: string;
}

/** Clients behind a load balancer that gives requests to the instances in turn, as long as they say that they are ready. */
class Load {
  readonly #ports: readonly number[];
  readonly failed: string[] = [];
  readonly stored = new Map<number, string>();
  done = 0;
  #turn = 0;
  #isOver = false;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
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

  async url(): Promise<string> {
    for (;;) {
      const url = `http://127.0.0.1:${this.#ports[(this.#turn += 1) % this.#ports.length]}`;
      const status = await exchange(url, 'GET /health/ready').then(
        (answer) => answer.status,
        () => 0,
      );
      if (status === 200 || this.#isOver) return url;
    }
  }

  async #client(number: number): Promise<void> {
    for (let round = 0; !this.#isOver; round += 1) {
      const title = `${number}-${round}`;
      const made = await this.#send('POST /api/books', 201, { title });
      if (made === undefined) continue;
      const path = `/api/books/${made.id}`;
      this.stored.set(made.id, made.title);
      await this.#send(`GET ${path}`, 200);
      const changed = await this.#send(`PUT ${path}`, 200, { title: `${title}+` });
      if (changed) this.stored.set(made.id, changed.title);
      await this.#send('GET /api/books?_cnd[limit]=0&_cnd[limit]=5&_cnd[orderBy]=title', 200);
      if (round % 2 === 0 && (await this.#send(`DELETE ${path}`, 200))) this.stored.delete(made.id);
    }
  }

  async #send(title: string, status: number, body?: object): Promise<Book | undefined> {
    const parts = body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) };
    const answer = await exchange(await this.url(), title, parts).catch((error: unknown) => ({
      status: 0,
      text: String(error),
    }));
    this.done += 1;
    if (answer.status === status) return JSON.parse(answer.text) as Book;
    this.failed.push(`${title}: ${answer.status} ${answer.text}`);
    return undefined;
  }
}

onServer('three instances', () => {
  test(
    'expand, deploy, go back, deploy again, contract: 0 failed requests',
    async () => {
      const database = await createDatabase('postgres');
      const ports = [await freePort(), await freePort(), await freePort()];
      const deployment = new Deployment(openBuild().directory, database.url);
      const load = new Load(ports);
      const inTurn = async (commands: string): Promise<void> => {
        for (const port of ports) {
          await load.more(30);
          expect(await deployment.run(commands, port)).toEqual([0, '']);
        }
      };
      try {
        expect(await deployment.run('SCHEMA_DIR=schema npx records apply')).toEqual([
          0,
          expect.stringContaining('applied'),
        ]);
        for (const port of ports) {
          const [code] = await deployment.run(goBack.replace(/^kill .*\n/m, ''), port);
          expect(code).toBe(0);
        }
        const running = load.run();
        await load.more(30);
        const [code, plan] = await deployment.run(look);
        const [made = '', kept] = plan.split('The database keeps');
        expect([code, made, kept]).toEqual([2, expect.stringContaining('  Add '), expect.any(String)]);
        expect(made).not.toContain('cannot use');
        expect(await deployment.run(expand)).toEqual([0, expect.stringContaining('applied')]);
        await inTurn(deploy);
        await inTurn(goBack);
        await inTurn(deploy);
        await load.more(30);
        expect(await deployment.run(contract)).toEqual([0, expect.stringContaining('drop-field:Book.shelf')]);
        await load.more(30);
        load.end();
        await running;
        expect(load.failed).toEqual([]);
        const { text } = await exchange(await load.url(), 'GET /api/books');
        const found = new Map((JSON.parse(text) as Book[]).map(({ id, title }) => [id, title]));
        expect(found).toEqual(load.stored);
        expect(await deployment.run('SCHEMA_DIR=next npx records plan')).toEqual([
          0,
          expect.stringContaining('Nothing to do'),
        ]);
        expect((await deployment.run('SCHEMA_DIR=schema PORT=0 node dist/server.js'))[0]).toBe(1);
      } finally {
        load.end();
        deployment.remove();
        await database.remove();
      }
    },
    TIME,
  );
});
