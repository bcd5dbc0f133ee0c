/** Clients that create, change, delete and read assemblies at random, and remember what they were told. */
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Draw } from '../../oracle/random-operations.ts';
import { exchange, type Exchanged } from '../../support/exchange.ts';
import { randomOf } from '../../support/random.ts';
import type { Assembly } from '../../support/write-load.ts';

/** A frozen instance does not answer. */
const PATIENCE_MS = 4000;
/** Clients meet, since they use the latest records only. */
const HOT = 6;
const MOST = 40;

export interface Write {
  readonly kind: 'create' | 'update' | 'delete';
  /** Each write has its own; retries under an idempotency key share it. Every record that it writes carries it. */
  readonly stamp: number;
  readonly id?: number;
  /** The stamp of the record that the entity tag in If-Match stands for. */
  readonly basis?: number;
  readonly key?: string;
}

export interface Op {
  readonly number: number;
  readonly client: string;
  readonly instance: string;
  readonly title: string;
  readonly write: Write | undefined;
  /** Events of this process are counted: the judge needs no clock. */
  readonly from: number;
  /** Infinity where no answer came. */
  to: number;
  answer: Exchanged | undefined;
  seen: readonly Assembly[];
}

export interface Target {
  readonly name: string;
  readonly url: string;
}

export class History {
  readonly ops: Op[] = [];
  readonly faults: { readonly at: number; readonly what: string }[] = [];
  #moment = 0;

  moment(): number {
    return (this.#moment += 1);
  }

  note(what: string): void {
    this.faults.push({ at: this.moment(), what });
  }
}

/** Calls for `count` clients at once, until `isOver`; at the end, everything is read on each target. */
export async function runClients(
  history: History,
  targets: () => readonly Target[],
  { seed, count, isOver }: { readonly seed: number; readonly count: number; readonly isOver: () => boolean },
): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const known: { readonly record: Assembly; readonly tag: string | undefined }[] = [];
  let stamps = 0;

  async function send(
    client: string,
    { name, url }: Target,
    title: string,
    { write, body, headers = {} }: { write?: Write; body?: object; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Op> {
    const op: Op = {
      number: history.ops.length,
      client,
      instance: name,
      title,
      write,
      from: history.moment(),
      to: Infinity,
      answer: undefined,
      seen: [],
    };
    history.ops.push(op);
    const content =
      body === undefined
        ? { headers }
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } };
    try {
      op.answer = await exchange(url, title, { ...content, agent, patience: PATIENCE_MS });
      op.to = history.moment();
      if (op.answer.status < 300 && op.answer.text !== '') remember(op, op.answer);
    } catch {
      // No answer: what the request wanted may have happened, now or later.
    }
    return op;
  }

  function remember(op: Op, { text, headers }: Exchanged): void {
    const body = JSON.parse(text) as Assembly | readonly Assembly[];
    op.seen = Array.isArray(body) ? body : [body as Assembly];
    if (Array.isArray(body)) return;
    const record = body as Assembly;
    const at = known.findIndex((one) => one.record.id === record.id);
    if (at >= 0) known.splice(at, 1);
    if (op.write?.kind !== 'delete') known.push({ record, tag: headers.etag });
  }

  async function act(client: string, draw: Draw): Promise<void> {
    const all = targets();
    const ask = (...rest: Parameters<typeof send> extends [string, Target, ...infer R] ? R : never): Promise<Op> =>
      send(client, all[draw(all.length)] as Target, ...rest);
    const stamp = (stamps += 1);
    const parts = [{ stamp }, { stamp }, { stamp }];
    const used = known.slice(known.length > MOST ? 0 : -HOT);
    const { record, tag } = used[draw(Math.max(1, used.length))] ?? {};
    const choice = record === undefined ? 0 : draw(12);
    if (choice < 2) {
      const key = draw(2) === 0 ? undefined : `key-${stamp}`;
      const write: Write = { kind: 'create', stamp, ...(key === undefined ? {} : { key }) };
      const sent = {
        write,
        body: { stamp, parts, box: { stamp } },
        headers: key === undefined ? {} : { 'idempotency-key': key },
      };
      // Under a key it is sent twice at once, and again until it is done.
      let ops = await Promise.all((key === undefined ? [1] : [1, 2]).map(() => ask('POST /api/assemblies', sent)));
      const tries = key === undefined ? 0 : 3;
      for (let left = tries; left > 0 && ops.every((op) => outcomeOf(op) !== 'done'); left -= 1)
        ops = [await ask('POST /api/assemblies', sent)];
      return;
    }
    if (record === undefined) return;
    const { id } = record;
    const isTagged = tag !== undefined && draw(2) === 0;
    const headers = isTagged ? { 'if-match': tag } : {};
    const basis = isTagged ? { basis: record.stamp } : {};
    const box = { id: record.box?.id, stamp };
    const [kept] = record.parts;
    if (choice < 6) {
      const body = { stamp, parts: [{ id: kept?.id, stamp }, { stamp }, { stamp }], box };
      await ask(`PUT /api/assemblies/${id}`, { write: { kind: 'update', stamp, id, ...basis }, body, headers });
    } else if (choice === 6) {
      // The second part does not exist: what comes before it must not be written either.
      const body = { stamp, box, parts: [{ stamp }, { id: 2 ** 52, stamp }, { stamp }] };
      await ask(`PUT /api/assemblies/${id}`, { write: { kind: 'update', stamp, id }, body });
    } else if (choice === 7 || known.length > MOST)
      await ask(`DELETE /api/assemblies/${id}`, { write: { kind: 'delete', stamp, id, ...basis }, headers });
    else if (choice === 8) await ask('GET /api/assemblies');
    else await ask(`GET /api/assemblies/${id}`);
  }

  async function actUntilOver(number: number): Promise<void> {
    const draw = randomOf(seed * 1000 + number);
    while (!isOver()) {
      const before = history.ops.length;
      await act(`client ${number}`, draw);
      // Where nobody answers, asking again at once would only fill the history.
      if (history.ops.slice(before).some(({ answer }) => answer === undefined)) await pause(20);
    }
  }
  await Promise.all(Array.from({ length: count }, (_, number) => actUntilOver(number)));
  const ids = new Set(history.ops.flatMap(({ seen }) => seen.map(({ id }) => id)));
  for (const target of targets()) {
    await send('reader', target, 'GET /api/assemblies');
    for (const id of ids) await send('reader', target, `GET /api/assemblies/${id}`);
  }
  agent.destroy();
}

export function outcomeOf({ answer }: Op): 'done' | 'refused' | 'unknown' {
  if (answer === undefined || codeOf(answer) === 'outcome-unknown') return 'unknown';
  return answer.status < 300 ? 'done' : 'refused';
}

export const codeOf = ({ headers, text }: Exchanged): string =>
  headers['content-type']?.startsWith('application/problem+json')
    ? String(JSON.parse(text).type).replace('urn:problem:', '')
    : '';
