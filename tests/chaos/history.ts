/** What clients sent and what came of it. */
import type { Exchanged } from '../support/exchange.ts';

/** Of a record that was deleted. Every other state is the stamp of the write that made it; null where there is none. */
export const GONE = 'gone';
export type State = string | null;

/** What a request saw of one object: a record by its path, or a field of it, as in "registers/3#left". */
export interface Sighting {
  readonly object: string;
  readonly state: State;
}

/** A set that a request saw whole: a list of a type, or the ledgers of an account. */
export interface SetSeen {
  readonly of: string;
  readonly members: readonly string[];
}

/** What a representation says. */
export interface Seen {
  readonly sightings: readonly Sighting[];
  readonly sets: readonly SetSeen[];
  /** What no state of the data can explain: a record that shows parts of two writes. */
  readonly torn: readonly string[];
}

export interface Write {
  readonly kind: 'create' | 'update' | 'delete';
  /** Stamps are unique. Retries under one idempotency key share theirs. */
  readonly stamp: string;
  /** What it writes, besides records that it creates: their paths are known when somebody has seen them. */
  readonly objects: readonly string[];
  /** The type of the record that it creates. */
  readonly type: string;
  /** Fields that are objects of their own, with the values that a create gives them. */
  readonly fields: Readonly<Record<string, State>>;
  /** What the entity tag in If-Match was computed from. */
  readonly basis?: Seen;
  readonly key?: string;
}

export interface Sent {
  readonly client: string;
  readonly instance: string;
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly write?: Write;
  /** What a tag in If-None-Match was computed from: a 304 has seen it. */
  readonly known?: Seen;
}

export interface Op extends Sent {
  readonly number: number;
  /** Counts of the events of this process, not times: the judge needs no clock. */
  readonly from: number;
  /** Infinity where no answer came. */
  to: number;
  /** 0 where no answer came. */
  status: number;
  answer: Exchanged | undefined;
  /** undefined where the answer shows no record. */
  seen: Seen | undefined;
}

/** Something that was done to the service. */
export interface Fault {
  readonly at: number;
  readonly what: string;
}

export class History {
  readonly ops: Op[] = [];
  readonly faults: Fault[] = [];
  #moment = 0;

  begin(sent: Sent): Op {
    const op: Op = {
      ...sent,
      number: this.ops.length,
      from: (this.#moment += 1),
      to: Infinity,
      status: 0,
      answer: undefined,
      seen: undefined,
    };
    this.ops.push(op);
    return op;
  }

  end(op: Op, answer: Exchanged, seen: Seen | undefined): void {
    op.to = this.#moment += 1;
    op.status = answer.status;
    op.answer = answer;
    op.seen = seen;
  }

  note(what: string): void {
    this.faults.push({ at: (this.#moment += 1), what });
  }
}

/** Why the service broke its promise, and the requests that show it. */
export interface Violation {
  readonly rule: string;
  readonly ops: readonly Op[];
}

/** Whether its effects may be there, must be there, or must not. */
export function outcomeOf({ status, answer }: Op): 'done' | 'refused' | 'unknown' {
  if (status >= 200 && status < 300) return 'done';
  return status === 0 || (status === 504 && codeOf(answer) === 'outcome-unknown') ? 'unknown' : 'refused';
}

export function codeOf(answer: Exchanged | undefined): string | undefined {
  if (!answer?.headers['content-type']?.startsWith('application/problem+json')) return undefined;
  return String(JSON.parse(answer.text).type).replace('urn:problem:', '');
}

export const describeOp = ({ number, client, instance, title, headers, body, from, to, status, answer }: Op): string =>
  `#${number} ${client} -> ${instance} [${from}, ${to}] ${title} ${JSON.stringify(headers)} ${JSON.stringify(body) ?? ''}\n` +
  `    ${status === 0 ? 'no answer' : `${status} ${answer?.headers.etag ?? ''} ${answer?.text.slice(0, 500)}`}`;
