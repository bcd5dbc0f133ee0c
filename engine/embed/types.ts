/** The types of the public API. They depend on nothing else, so that a program that uses them needs no other types. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Diagnostic } from '../diagnostic.ts';
import type { JsonObject } from '../json/json.ts';

/** A setting that is left out, or undefined, has its default. */
export interface EngineOptions {
  /** `sqlite:FILE`, created if missing, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Default: `sqlite:data/records.db`. */
  readonly databaseUrl?: string | undefined;
  /** Replicas of a PostgreSQL database that answer reads. Default: none. */
  readonly readUrl?: string | undefined;
  /** Folder of the descriptors, relative to the working directory. Default: `schema`. */
  readonly schemaDirectory?: string | undefined;
  /** false: change no tables, and fail if they do not suit the descriptors. Default: true. */
  readonly migrate?: boolean | undefined;
  /** Name of the service on its pages and in its OpenAPI document, at most 100 characters. Default: `Records`. */
  readonly title?: string | undefined;
  /** Whether the pages include the studio, in which people browse and edit the records. Default: true. */
  readonly studio?: boolean | undefined;
  /** Access tokens over HTTP: lines printed by `records token`. Records in process need none. Default: none. */
  readonly tokens?: string | readonly string[] | undefined;
  /** File of such lines; changes take effect within two seconds. */
  readonly tokensFile?: string | undefined;
  /** Origins whose web pages may call the service, like `https://shop.example.com`; `*` for all. Default: none. */
  readonly corsOrigins?: string | readonly string[] | undefined;
  /** Host names, besides localhost, that requests may use; `*` for all. Default: any; without tokens, agents only localhost. */
  readonly allowedHosts?: string | readonly string[] | undefined;
  /** Proxies whose `X-Forwarded-For` names the client: addresses, or networks like `10.0.0.0/8`. Default: none. */
  readonly trustedProxies?: string | readonly string[] | undefined;
  /** Interfaces of other clients that the handler serves besides, below `/json-server/` and `/simple-rest/`. Default: both. */
  readonly dialects?: string | readonly ('json-server' | 'simple-rest')[] | undefined;
  /** Requests per minute for each token or address. Default: false, since limits are the host's. */
  readonly rateLimit?: number | 'off' | false | undefined;
  /** Bytes of a request body, and of a record in process. Default: 1048576. */
  readonly bodyLimit?: number | undefined;
  /** Seconds that one database statement may take. Default: 30. */
  readonly statementTimeout?: number | undefined;
  /** Hours to keep the idempotency key of a create. Default: 24. */
  readonly idempotencyHours?: number | undefined;
  /** Bytes for bodies, pages and unsent responses together. Default: `auto`, from the heap and the machine. */
  readonly memoryLimit?: number | 'auto' | undefined;
  /** Lowest level to log, as JSON lines on standard error. Default: `info`. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent' | undefined;
  /** Log each finished HTTP request. Default: false. */
  readonly accessLog?: boolean | undefined;
  /** Log database statements that take at least this many milliseconds. Default: `off`. */
  readonly slowStatement?: number | 'off' | false | undefined;
  /** Serve Prometheus metrics at `/metrics` of the pages. Default: false. */
  readonly metrics?: boolean | undefined;
}

/** An Express middleware, or a listener of `http.createServer`. Other paths go to `next`, or get 404 where there is none. */
export type MountableHandler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

/** A running engine: a database that suits the descriptors, and everything that serves them. */
export interface RecordEngine {
  /** Serves the records below `/api/`. */
  readonly handler: MountableHandler;
  /** Serves the start page at `/`, the reference at `/docs`, the studio at `/studio`, the OpenAPI document, and metrics if they are on. */
  readonly pages: MountableHandler;
  /** Serves `/openapi.json` and `/openapi.yaml` only. */
  readonly document: MountableHandler;
  /** Serves agents at `/mcp`, by the Model Context Protocol. Without tokens, any agent on this machine may read and write. */
  readonly mcp: MountableHandler;
  /** Warnings about the descriptors, which are valid. */
  readonly warnings: readonly Diagnostic[];
  /** The records of a type, in process; calls reject if there is no such type. R: a record as the default view shows it. */
  records<R extends object = JsonObject>(type: string): RecordCollection<R>;
  /** Rejects with a Problem if the database does not answer. */
  ready(): Promise<void>;
  /** From now on each answer closes its connection: call it before the server closes. */
  drain(): void;
  /** Waits for the calls in process that have begun, and closes the database. Requests must have been answered. */
  close(): Promise<void>;
}

/**
 * The records of one type. Every method rejects with a `Problem`, whose `code`, `status`, `message` and `errors` are those
 * of the response over HTTP. Values are those of JSON: decimals are strings, and so are dates.
 */
export interface RecordCollection<R extends object> {
  /** All records that match, or a page of them if there is a limit. */
  list(options?: ListOptions): Promise<RecordPage<R>>;
  /** Rejects with `record-not-found` if there is none, as `update` and `delete` do. */
  get(identifier: number, options?: ViewOptions): Promise<R>;
  /** Creates a record, and whatever is nested in it, in one transaction. Resolves with what is stored. */
  create(record: object, options?: CreateOptions): Promise<R>;
  /** Creates all of them or none, in one transaction. Resolves with them in the same order. */
  createMany(records: readonly object[], options?: CreateOptions): Promise<readonly R[]>;
  /** Each names its record by the identifier, and may have its tag as `"@etag"`. All are changed or none. */
  updateMany(changes: readonly object[], options?: ViewOptions): Promise<readonly R[]>;
  /** Counts the records by group, and adds up their values. */
  summary(options?: SummaryOptions): Promise<SummaryPage>;
  /** Keys that are left out keep their values. Resolves with what is stored. */
  update(identifier: number, changes: object, options?: UpdateOptions): Promise<R>;
  /** Resolves with the record as it was. */
  delete(identifier: number, options?: UpdateOptions): Promise<R>;
  /** The same writes, of which each changes nothing, and resolves with a report of what it would do. */
  readonly dryRun: DryRuns<R>;
  /**
   * The tag for `ifMatch` of the object that get, create or update returned, else undefined, which `ifMatch` refuses.
   * Other `fields` or `include` make another tag.
   */
  tagOf(record: R): string | undefined;
}

/** New records may get other identifiers when they are really created. */
export interface DryRuns<R extends object> {
  create(record: object, options?: ViewOptions): Promise<DryRun<R>>;
  createMany(records: readonly object[], options?: ViewOptions): Promise<DryRun<readonly R[]>>;
  updateMany(changes: readonly object[], options?: ViewOptions): Promise<DryRun<readonly R[]>>;
  update(identifier: number, changes: object, options?: UpdateOptions): Promise<DryRun<R>>;
  delete(identifier: number, options?: UpdateOptions): Promise<DryRun<R>>;
}

export interface DryRun<T> {
  readonly dryRun: true;
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: T;
  };
  readonly effects: readonly DryRunEffect[];
}

/** An effect that the write would have had on records of a type. */
export interface DryRunEffect {
  readonly effect: 'created' | 'changed' | 'linked' | 'unlinked' | 'deleted';
  readonly type: string;
  readonly relation?: string;
  readonly keys?: readonly string[];
  readonly count: number;
  readonly identifiers: readonly number[];
}

export interface ViewOptions {
  /** The fields to show; `zone.name` for those of a related record. */
  readonly fields?: string | readonly string[];
  /** The relations to show, such as `zone.owner`; default: those of the descriptor. */
  readonly include?: string | readonly string[];
  readonly variant?: string;
  /** Stops the work; the call rejects with the signal's reason. A write that has begun may still be done. */
  readonly signal?: AbortSignal;
}

export interface UpdateOptions extends ViewOptions {
  /** Writes only if the record still has this tag, else rejects with `precondition-failed`. */
  readonly ifMatch?: string;
}

export interface CreateOptions extends ViewOptions {
  /** A repeated create with this key resolves with the first result; another body is an `idempotency-conflict`. */
  readonly idempotencyKey?: string;
}

export interface ListOptions extends ViewOptions {
  readonly where?: Where;
  readonly order?: Order;
  readonly limit?: number;
  readonly offset?: number;
  /** `next` of the page before. */
  readonly after?: string;
  /** `previous` of the page after. */
  readonly before?: string;
  readonly count?: 'exact' | 'estimated' | 'none';
}

/** Filters are those of lists; order, limit and offset are about groups. */
export interface SummaryOptions extends Omit<ListOptions, 'fields' | 'include' | 'after' | 'before' | 'count'> {
  /** The keys of groups: `['zone', 'month(date)']`. Without keys, all records are one group. */
  readonly by?: string | readonly string[];
  /** The measures of each group: `['count', 'sum(price)']`. Default: `count`. */
  readonly measure?: string | readonly string[];
  readonly count?: 'exact' | 'none';
}

/** Values are those of JSON: sums of decimals are strings. */
export interface RecordGroup {
  readonly by: JsonObject;
  readonly measures: JsonObject;
}

export interface SummaryPage {
  readonly groups: readonly RecordGroup[];
  /** All groups, whatever the limit; undefined with `count: 'none'`. */
  readonly total: number | undefined;
}

export interface RecordPage<R> {
  readonly records: readonly R[];
  /** All records that match, whatever the limit; undefined with `count: 'none'`. */
  readonly total: number | undefined;
  /** The option `after` of the next page; undefined if this is the last one. */
  readonly next: string | undefined;
  /** The option `before` of the page before; undefined if this is the first one. */
  readonly previous: string | undefined;
}

/** `'name'`, `'name desc'`, `['name', 'desc']`, or several: `['position desc', 'name']`. */
export type Order = string | readonly (string | readonly string[])[];

/**
 * Filters that must all match, written as in the URL: `{ position: 10 }`, `{ position: { gte: 10, lt: 20 } }`,
 * `{ 'zone.name': { like: 'E*' } }`, `{ $any: [{ position: 10 }, { note: null }] }`. A list of values means `in`.
 */
export interface Where {
  readonly [name: string]: FilterValue | undefined;
}

export type FilterValue = null | boolean | number | bigint | string | Date | readonly FilterValue[] | Where;
