/** Clients that create, change, delete and read at random, and remember what they were told. */
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../engine/json/json.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import type { Draw } from '../oracle/random-operations.ts';
import { randomOf } from '../support/random.ts';
import { codeOf, type History, type Op, outcomeOf, type Seen, type Sent, type Write } from './history.ts';
import { FIELDS, LISTS, observe, PARTS } from './observe.ts';

/** A frozen instance does not answer. */
const PATIENCE_MS = 4000;

export type Transport = ReturnType<typeof overHttp>;

export function overHttp() {
  const agent = new Agent({ keepAlive: true });
  const send = (url: string, title: string, headers: Readonly<Record<string, string>>, body?: string) =>
    exchange(url, title, { headers, agent, patience: PATIENCE_MS, ...(body === undefined ? {} : { body }) });
  return Object.assign(send, { close: () => agent.destroy() });
}

/** An instance, by the name that reports use. */
export interface Target {
  readonly name: string;
  readonly url: string;
}

interface Known {
  readonly path: string;
  readonly body: JsonObject;
}

interface Tagged {
  readonly url: string;
  readonly tag: string;
  readonly seen: Seen;
}

/** As many records of a type are used at a time: clients are to meet. */
const HOT = 4;
const MOST = 30;
const JSON_BODY = { 'content-type': 'application/json' };
const ACCOUNT = '?include=account.ledgers';

/** What all clients of a run share. */
export class Clients {
  readonly history: History;
  readonly #transport: Transport;
  readonly #targets: () => readonly Target[];
  readonly #known = new Map<string, readonly Known[]>();
  readonly #made = new Map<string, string[]>();
  readonly #tags: Tagged[] = [];
  #stamps = 0;

  constructor(history: History, transport: Transport, targets: () => readonly Target[]) {
    this.history = history;
    this.#transport = transport;
    this.#targets = targets;
  }

  /** `count` clients at once, until `isOver`. */
  async run(seed: number, count: number, isOver: () => boolean): Promise<void> {
    const one = async (number: number): Promise<void> => {
      const client = new Client(this, `client ${number}`, randomOf(seed * 1000 + number));
      while (!isOver()) {
        const before = this.history.ops.length;
        await client.act();
        // Where nobody answers, asking again at once would only fill the history.
        if (this.history.ops.slice(before).some(({ status }) => status === 0)) await pause(20);
      }
    };
    await Promise.all(Array.from({ length: count }, (_, number) => one(number)));
  }

  /** Reads everything that was ever seen, once the clients are done. */
  async readAll(target: Target): Promise<void> {
    const read = (title: string): Promise<Op> =>
      this.send({ client: 'reader', instance: target.name, title, headers: {} }, target);
    for (const type of [...LISTS, ...PARTS]) await read(`GET /api/${type}`);
    const paths = new Set([...this.#known.values()].flat().map(({ path }) => path));
    for (const path of paths) await read(`GET /api/${path}`);
  }

  /** Whether an instance has the second version. */
  get isRolling(): boolean {
    return this.#targets().some(({ name }) => !name.includes('first'));
  }

  pick(draw: Draw): Target {
    const targets = this.#targets();
    return targets[draw(targets.length)] as Target;
  }

  stamp(): string {
    return `s${(this.#stamps += 1)}`;
  }

  /** One of those that were seen last. */
  record(type: string, draw: Draw): Known | undefined {
    const all = this.#known.get(type) ?? [];
    return all[draw(all.length)];
  }

  tagged(path: string, draw: Draw): Tagged | undefined {
    const fitting = this.#tags.filter(({ url }) => url.startsWith(path) && !/^\d/.test(url.slice(path.length)));
    // Mostly the latest: others are stale.
    return fitting.at(draw(5) === 0 ? draw(fitting.length) : -1);
  }

  async send(sent: Sent, target: Target): Promise<Op> {
    const op = this.history.begin(sent);
    const text = sent.body === undefined ? undefined : JSON.stringify(sent.body);
    try {
      const headers = text === undefined ? sent.headers : { ...JSON_BODY, ...sent.headers };
      const answer = await this.#transport(target.url, sent.title, headers, text);
      const [, url = ''] = sent.title.split(' /api/');
      const [type = ''] = url.split(/[/?]/);
      const isRecord = answer.status < 300 && answer.text !== '';
      const seen = isRecord ? observe(type, answer.text) : answer.status === 304 ? sent.known : undefined;
      this.history.end(op, answer, seen);
      if (isRecord && seen) this.#remember(op, type, url, answer, seen);
      else if (isMissing(op)) this.#forget(type, url.split('?')[0] ?? '');
    } catch {
      // No answer: what the request wanted may have happened, now or later.
    }
    return op;
  }

  #remember({ write, title }: Op, type: string, url: string, answer: Exchanged, seen: Seen): void {
    const body = JSON.parse(answer.text) as JsonObject | JsonObject[];
    if (Array.isArray(body)) return;
    const path = `${type}/${body['id']}`;
    const others = this.#forget(type, path);
    if (write?.kind === 'delete') return;
    this.#known.set(type, [...others, { path, body }].slice(-HOT));
    if (write?.kind === 'create') this.#made.set(type, [...(this.#made.get(type) ?? []), path]);
    const { etag } = answer.headers;
    // The tag of a POST is that of the default view.
    const at = title.startsWith('POST') ? path : url;
    if (etag === undefined) return;
    this.#tags.push({ url: at, tag: etag, seen });
    if (this.#tags.length > 100) this.#tags.shift();
  }

  #forget(type: string, path: string): readonly Known[] {
    const others = (this.#known.get(type) ?? []).filter((known) => known.path !== path);
    this.#known.set(type, others);
    return others;
  }

  /** The oldest one where there are enough: lists are to stay short. */
  surplus(type: string): string | undefined {
    const all = this.#made.get(type) ?? [];
    return all.length > MOST ? all.shift() : undefined;
  }
}

class Client {
  readonly #all: Clients;
  readonly #name: string;
  readonly #draw: Draw;

  constructor(all: Clients, name: string, draw: Draw) {
    this.#all = all;
    this.#name = name;
    this.#draw = draw;
  }

  async act(): Promise<void> {
    const ways = [
      () => this.#register(),
      () => this.#register(),
      () => this.#assembly(),
      () => this.#ledger(),
      () => this.#ledger(),
      () => this.#account(),
      () => this.#memo(),
      () => this.#refused(),
      () => this.#list(),
    ];
    await ways[this.#draw(ways.length)]?.();
  }

  #send(
    title: string,
    parts: { write?: Write; body?: object; headers?: Readonly<Record<string, string>>; known?: Seen } = {},
    target = this.#all.pick(this.#draw),
  ): Promise<Op> {
    return this.#all.send({ client: this.#name, instance: target.name, title, headers: {}, ...parts }, target);
  }

  async #register(): Promise<void> {
    const known = this.#all.record('registers', this.#draw);
    if (known === undefined || this.#draw(12) === 0) return this.#createRegister();
    const choice = this.#draw(10);
    if (choice === 9) return this.#remove(known.path);
    if (choice < 4) return this.#read(known.path);
    const stamp = this.#all.stamp();
    const fields = FIELDS.filter(() => this.#draw(3) === 0);
    const body = { stamp, ...Object.fromEntries(fields.map((field) => [field, stamp])) };
    const objects = [known.path, ...fields.map((field) => `${known.path}#${field}`)];
    await this.#update(known.path, body, { kind: 'update', stamp, objects, type: 'registers', fields: {} });
  }

  async #createRegister(): Promise<void> {
    const stamp = this.#all.stamp();
    const hasLeft = this.#draw(2) === 0;
    const body = { stamp, ...(hasLeft ? { left: stamp } : {}) };
    const fields = { left: hasLeft ? stamp : null, right: null, note: null };
    await this.#create('registers', body, fields);
  }

  /** With a key it is sent again, and perhaps twice at once. */
  async #create(
    type: string,
    body: JsonObject & { readonly stamp: string },
    fields: Write['fields'] = {},
  ): Promise<void> {
    const surplus = type === 'accounts' ? undefined : this.#all.surplus(type);
    if (surplus !== undefined) await this.#remove(surplus);
    const plain: Write = { kind: 'create', stamp: body.stamp, objects: [], type, fields };
    if (this.#draw(2) === 0) return void (await this.#send(`POST /api/${type}`, { write: plain, body }));
    const write = { ...plain, key: `key-${body.stamp}` };
    const parts = { write, body, headers: { 'idempotency-key': write.key } };
    const once = (): Promise<Op> => this.#send(`POST /api/${type}`, parts);
    const all = await Promise.all(this.#draw(4) === 0 ? [once(), once()] : [once()]);
    for (let tries = 0; tries < 3 && all.every((op) => outcomeOf(op) !== 'done'); tries += 1) all.push(await once());
    if (this.#draw(3) === 0) await once();
  }

  async #update(path: string, body: object, write: Write, ask = ''): Promise<void> {
    const tagged = this.#draw(2) === 0 ? this.#all.tagged(path + ask, this.#draw) : undefined;
    const method = this.#draw(3) === 0 ? 'PATCH' : 'PUT';
    const quiet = this.#draw(6) === 0 ? { prefer: 'return=minimal' } : {};
    if (tagged === undefined)
      return void (await this.#send(`${method} /api/${path}${ask}`, { write, body, headers: quiet }));
    const headers = { ...quiet, 'if-match': tagged.tag };
    await this.#send(`${method} /api/${tagged.url}`, { write: { ...write, basis: tagged.seen }, body, headers });
  }

  async #remove(path: string): Promise<void> {
    const [type = ''] = path.split('/');
    const tagged = this.#draw(2) === 0 ? this.#all.tagged(path, this.#draw) : undefined;
    const write: Write = { kind: 'delete', stamp: this.#all.stamp(), objects: [path], type, fields: {} };
    if (tagged === undefined) return void (await this.#send(`DELETE /api/${path}`, { write }));
    const headers = { 'if-match': tagged.tag };
    await this.#send(`DELETE /api/${tagged.url}`, { write: { ...write, basis: tagged.seen }, headers });
  }

  async #read(path: string, ask = ''): Promise<void> {
    const tagged = this.#draw(4) === 0 ? this.#all.tagged(path + ask, this.#draw) : undefined;
    if (tagged === undefined) return void (await this.#send(`GET /api/${path}${ask}`));
    await this.#send(`GET /api/${tagged.url}`, { headers: { 'if-none-match': tagged.tag }, known: tagged.seen });
  }

  /** Every record that one write makes or changes carries its stamp: parts of two writes show. */
  async #assembly(): Promise<void> {
    const known = this.#all.record('assemblies', this.#draw);
    const stamp = this.#all.stamp();
    if (known === undefined || this.#draw(5) === 0)
      return this.#create('assemblies', { stamp, parts: [{ stamp }, { stamp }, { stamp }], box: { stamp } });
    const choice = this.#draw(6);
    if (choice === 0) return this.#remove(known.path);
    if (choice < 3) return this.#read(known.path);
    const [kept] = known.body['parts'] as JsonObject[];
    const parts = [{ id: kept?.['id'] ?? null, stamp }, { stamp }, { stamp }];
    const box = { id: (known.body['box'] as JsonObject)['id'] ?? null, stamp };
    const write: Write = { kind: 'update', stamp, objects: [known.path], type: 'assemblies', fields: {} };
    await this.#update(known.path, { stamp, parts, box }, write);
  }

  /** Half of them show the whole family, so that the entity tag covers it. */
  async #ledger(): Promise<void> {
    const known = this.#all.record('ledgers', this.#draw);
    const account = this.#all.record('accounts', this.#draw);
    const stamp = this.#all.stamp();
    if (account === undefined) return;
    const id = account.body['id'] ?? null;
    if (known === undefined || this.#draw(8) === 0) return this.#create('ledgers', { stamp, account: { id } });
    const ask = this.#draw(3) > 0 ? ACCOUNT : '';
    const choice = this.#draw(8);
    if (choice === 0) return this.#remove(known.path);
    if (choice < 4) return this.#read(known.path, ask);
    const own = (known.body['account'] as JsonObject | undefined)?.['id'] ?? null;
    const nested = choice === 4 && own !== null;
    const objects = nested ? [known.path, `accounts/${own}`] : [known.path];
    const body = nested ? { stamp, account: { id: own, stamp } } : { stamp };
    await this.#update(known.path, body, { kind: 'update', stamp, objects, type: 'ledgers', fields: {} }, ask);
  }

  async #account(): Promise<void> {
    const known = this.#all.record('accounts', this.#draw);
    const stamp = this.#all.stamp();
    if (known === undefined || this.#draw(12) === 0) return this.#create('accounts', { stamp });
    const choice = this.#draw(6);
    if (choice < 3) return this.#read(known.path);
    const write: Write = { kind: 'update', stamp, objects: [known.path], type: 'accounts', fields: {} };
    await this.#update(known.path, { stamp }, write);
  }

  /** Only the second version of the descriptors has them. */
  async #memo(): Promise<void> {
    if (!this.#all.isRolling && this.#draw(20) > 0) return;
    const known = this.#all.record('memos', this.#draw);
    if (known === undefined || this.#draw(2) === 0) return this.#create('memos', { stamp: this.#all.stamp() });
    if (this.#draw(4) === 0) return this.#remove(known.path);
    await this.#read(known.path);
  }

  /** What must never be there. */
  async #refused(): Promise<void> {
    const stamp = this.#all.stamp();
    const known = this.#all.record('assemblies', this.#draw);
    if (known === undefined || this.#draw(3) === 0) {
      const write: Write = { kind: 'create', stamp, objects: [], type: 'registers', fields: {} };
      return void (await this.#send('POST /api/registers', { write, body: { stamp, left: 1 } }));
    }
    const write: Write = { kind: 'update', stamp, objects: [known.path], type: 'assemblies', fields: {} };
    // The second part is not there: what comes before it must not be written either.
    const body = { stamp, box: { stamp }, parts: [{ stamp }, { id: 2 ** 52, stamp }, { stamp }] };
    await this.#send(`PUT /api/${known.path}`, { write, body });
  }

  async #list(): Promise<void> {
    const type = LISTS[this.#draw(LISTS.length)] ?? '';
    await this.#send(`GET /api/${type}`);
  }
}

export const isMissing = ({ status, answer }: Op): boolean => status === 404 && codeOf(answer) === 'record-not-found';
