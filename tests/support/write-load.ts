/** Clients that write nested records without a pause, and know afterwards what must be there and what may be. */
import { exchange } from './exchange.ts';

/** Every record that one write makes or changes carries its stamp: parts of two writes show. */
export interface Assembly {
  readonly id: number;
  readonly stamp: number;
  readonly parts: readonly { readonly id: number; readonly stamp: number }[];
  readonly box: { readonly id: number; readonly stamp: number } | null;
}

/** 'gone' where the record was deleted. */
type State = number | 'gone';

interface Known {
  /** What the last answer said. */
  acknowledged: State;
  /** What a request wanted that was never answered: it may have happened. */
  pending: State | undefined;
}

const PARTS = 3;
const HEADERS = { 'content-type': 'application/json' };

export class WriteLoad {
  readonly known = new Map<number, Known>();
  acknowledged = 0;
  private readonly pendingCreates = new Set<number>();
  private stamp = 0;

  /** Writes until the service, or its database, is gone. */
  async run(url: string, clients: number): Promise<void> {
    await Promise.all(Array.from({ length: clients }, () => this.client(url)));
  }

  private async client(url: string): Promise<void> {
    const own: Assembly[] = [];
    try {
      for (let turn = 0; ; turn += 1) {
        const record = own[0];
        if (record === undefined || turn % 4 === 0) own.unshift(await this.create(url));
        else if (turn % 4 === 3) await this.remove(url, own.splice(0, 1)[0] ?? record);
        else own[0] = await this.update(url, record);
      }
    } catch (error) {
      // By its code, not its class: errors of Node's own come from outside of the test's realm.
      if (typeof error !== 'object' || error === null || !('code' in error)) throw error;
    }
  }

  private async create(url: string): Promise<Assembly> {
    const stamp = ++this.stamp;
    this.pendingCreates.add(stamp);
    const parts = Array.from({ length: PARTS }, () => ({ stamp }));
    const record = await this.send(url, 'POST /api/assemblies', 201, { stamp, parts, box: { stamp } });
    this.pendingCreates.delete(stamp);
    this.known.set(record.id, { acknowledged: stamp, pending: undefined });
    return record;
  }

  /** One part is kept and changed, the others are dropped and made anew; the box is changed. */
  private async update(url: string, { id, parts, box }: Assembly): Promise<Assembly> {
    const stamp = ++this.stamp;
    const [kept] = parts;
    const body = { stamp, parts: [{ ...kept, stamp }, { stamp }, { stamp }], box: { ...box, stamp } };
    return this.changed(id, stamp, () => this.send(url, `PUT /api/assemblies/${id}`, 200, body));
  }

  private async remove(url: string, { id }: Assembly): Promise<Assembly> {
    return this.changed(id, 'gone', () => this.send(url, `DELETE /api/assemblies/${id}`, 200));
  }

  private async changed(id: number, state: State, send: () => Promise<Assembly>): Promise<Assembly> {
    const known = this.known.get(id) ?? { acknowledged: state, pending: undefined };
    known.pending = state;
    const record = await send();
    this.known.set(id, { acknowledged: state, pending: undefined });
    return record;
  }

  private async send(url: string, title: string, status: number, body?: object): Promise<Assembly> {
    const answer = await exchange(url, title, body ? { headers: HEADERS, body: JSON.stringify(body) } : {});
    // The database is gone, like the service: nobody knows what became of the write.
    if (answer.status > 502) throw Object.assign(new Error(answer.text), { code: answer.status });
    if (answer.status !== status) throw new TypeError(`${title}: ${answer.status} ${answer.text}`);
    this.acknowledged += 1;
    return JSON.parse(answer.text) as Assembly;
  }

  /** What is wrong with what is there now; it is the state that the next load begins with. */
  settle(records: readonly Assembly[]): readonly string[] {
    const there = new Map(records.map((record) => [record.id, record]));
    const faults = [...records.flatMap((record) => partial(record)), ...this.lost(there), ...this.unexplained(there)];
    for (const record of records) this.known.set(record.id, { acknowledged: record.stamp, pending: undefined });
    for (const [id, known] of this.known)
      if (!there.has(id)) Object.assign(known, { acknowledged: 'gone', pending: undefined });
    this.pendingCreates.clear();
    return faults;
  }

  private lost(there: ReadonlyMap<number, Assembly>): readonly string[] {
    return [...this.known].flatMap(([id, { acknowledged, pending }]) => {
      const found: State = there.get(id)?.stamp ?? 'gone';
      return found === acknowledged || found === pending
        ? []
        : [`record ${id} is ${found}, acknowledged was ${acknowledged}, under way ${pending ?? 'nothing'}`];
    });
  }

  private unexplained(there: ReadonlyMap<number, Assembly>): readonly string[] {
    return [...there.values()]
      .filter(({ id, stamp }) => !this.known.has(id) && !this.pendingCreates.has(stamp))
      .map(({ id }) => `nobody wrote record ${id}`);
  }
}

function partial({ id, stamp, parts, box }: Assembly): readonly string[] {
  const whole = parts.length === PARTS && [...parts, box].every((other) => other?.stamp === stamp);
  return whole ? [] : [`record ${id} is there in part: ${JSON.stringify({ stamp, parts, box })}`];
}
