/** The types of the public API, which need no other package than @types/node. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Diagnostic } from '../diagnostic.ts';
import type { JsonObject } from '../json/json.ts';

/** Omitted or undefined settings have their defaults. */
export interface EngineOptions {
  /** `sqlite:FILE`, created if missing, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Default: `sqlite:data/records.db`. */
  readonly databaseUrl?: string | undefined;
  /** Replicas of a PostgreSQL database that serve reads. Default: none. */
  readonly readUrl?: string | undefined;
  /** Folder of the descriptors, relative to the working directory. Default: `schema`. */
  readonly schemaDirectory?: string | undefined;
  /** Folder of the roles, relative to the working directory. Default: `access`. */
  readonly accessDirectory?: string | undefined;
  /** Names the client of a request to `handler`, `pages` and `mcp`; after undefined, its own credentials count. */
  readonly identify?:
    | ((request: IncomingMessage) => GivenIdentity | undefined | Promise<GivenIdentity | undefined>)
    | undefined;
  /** false: change no tables, and fail if they do not match the descriptors. Default: true. */
  readonly migrate?: boolean | undefined;
  /** Name of the service on its pages and in its OpenAPI document, at most 100 characters. Default: `Records`. */
  readonly title?: string | undefined;
  /** Whether the pages include the studio, in which people browse and edit the records. Default: true. */
  readonly studio?: boolean | undefined;
  /** Access tokens over HTTP: lines printed by `records token`. In-process calls need none. Default: none. */
  readonly tokens?: string | readonly string[] | undefined;
  /** File of token lines; changes take effect within 2 seconds. */
  readonly tokensFile?: string | undefined;
  /** Origins whose web pages may call the service, like `https://shop.example.com`; `*` for all. Default: none. */
  readonly corsOrigins?: string | readonly string[] | undefined;
  /** Other origins from which the studio may show pictures. Default: none. */
  readonly imageOrigins?: string | readonly string[] | undefined;
  /** Host names, besides localhost, that requests may use; `*` for all. Default: any; without tokens, agents only localhost. */
  readonly allowedHosts?: string | readonly string[] | undefined;
  /** Proxies whose `X-Forwarded-For` names the client: addresses, or networks like `10.0.0.0/8`. Default: none. */
  readonly trustedProxies?: string | readonly string[] | undefined;
  /** Interfaces of other clients, served by the handler below `/json-server/` and `/simple-rest/`. Default: both. */
  readonly dialects?: string | readonly ('json-server' | 'simple-rest')[] | undefined;
  /** Requests per minute for each token or address. Default: false. */
  readonly rateLimit?: number | 'off' | false | undefined;
  /** Bytes of a request body, and of a record in process. Default: 1048576. */
  readonly bodyLimit?: number | undefined;
  /** Seconds that one database statement may take. Default: 30. */
  readonly statementTimeout?: number | undefined;
  /** Hours to keep the idempotency key of a create. Default: 24. */
  readonly idempotencyHours?: number | undefined;
  /** Days to keep the entries of histories. Default: 400. */
  readonly historyDays?: number | undefined;
  /** Total bytes for bodies, pages and unsent responses. Default: `auto`, from the heap and the machine. */
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

/** Who sends a request, or calls in process: `role` names a file's role, `claims` are the values that its conditions ask for. */
export interface GivenIdentity {
  readonly name: string;
  readonly role: string;
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/** An Express middleware, or a listener of `http.createServer`. Passes other paths to `next`, or sends 404 without it. */
export type MountableHandler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

/** A running engine: a database that matches the descriptors, and its handlers. */
export interface RecordEngine {
  /** Serves the records below `/api/`. */
  readonly handler: MountableHandler;
  /** Serves the start page at `/`, the reference at `/docs`, the studio at `/studio`, the OpenAPI document, and metrics if enabled. */
  readonly pages: MountableHandler;
  /** Serves `/openapi.json` and `/openapi.yaml` only. */
  readonly document: MountableHandler;
  /** Serves agents at `/mcp`, by the Model Context Protocol. Without tokens, any agent on this machine may read and write. */
  readonly mcp: MountableHandler;
  /** Warnings about the valid descriptors. */
  readonly warnings: readonly Diagnostic[];
  /** The records of a type, in process; calls reject if there is no such type. R: a record as the default view shows it. */
  records<R extends object = JsonObject>(type: string): RecordCollection<R>;
  /** The records of a type, in process, with the rights of a role. */
  as(identity: GivenIdentity): { records<R extends object = JsonObject>(type: string): RecordCollection<R> };
  /**
   * The changes of records with a history, oldest first, and new ones as they come, until the engine closes. Throws a
   * Problem; with the code `cursor-expired`, changes are missing.
   */
  changes(options?: ChangesOptions): AsyncGenerator<Change, void>;
  /** Rejects with a Problem if the database does not respond. */
  ready(): Promise<void>;
  /** Makes each response close its connection: call it before the server closes. */
  drain(): void;
  /** Waits for running in-process calls, and closes the database. Call it after the last response. */
  close(): Promise<void>;
}

/**
 * The records of one type. Every method rejects with a `Problem`, with the `code`, `status`, `message` and `errors`
 * of the response over HTTP. Values are as in JSON: decimals and dates are strings.
 */
export interface RecordCollection<R extends object> {
  /** All records that match, or a page of them if there is a limit. */
  list(options?: ListOptions): Promise<RecordPage<R>>;
  /** `get`, `update` and `delete` reject with `record-not-found`. */
  get(identifier: number | string, options?: ViewOptions): Promise<R>;
  /** Creates a record and its nested records in one transaction; resolves with it as stored. */
  create(record: object, options?: CreateOptions): Promise<R>;
  /** Creates all records or none, in one transaction; resolves with them in the same order. */
  createMany(records: readonly object[], options?: CreateOptions): Promise<readonly R[]>;
  /** Each change contains the identifier, and optionally the tag as `"@etag"`. Updates all or none. */
  updateMany(changes: readonly object[], options?: ViewOptions): Promise<readonly R[]>;
  /** Counts records and aggregates their values, by group. */
  summary(options?: SummaryOptions): Promise<SummaryPage>;
  /** Omitted keys keep their values. Resolves with the stored record. */
  update(identifier: number | string, changes: object, options?: UpdateOptions): Promise<R>;
  /** Resolves with the deleted record. */
  delete(identifier: number | string, options?: UpdateOptions): Promise<R>;
  /** The same writes, but each changes nothing and resolves with a report of its effects. */
  readonly dryRun: DryRuns<R>;
  /**
   * The `ifMatch` tag of an object that get, create or update returned; else undefined, which `ifMatch` refuses.
   * The tag depends on `fields` and `include`.
   */
  tagOf(record: R): string | undefined;
}

/** The real create may assign other identifiers. */
export interface DryRuns<R extends object> {
  create(record: object, options?: ViewOptions): Promise<DryRun<R>>;
  createMany(records: readonly object[], options?: ViewOptions): Promise<DryRun<readonly R[]>>;
  updateMany(changes: readonly object[], options?: ViewOptions): Promise<DryRun<readonly R[]>>;
  update(identifier: number | string, changes: object, options?: UpdateOptions): Promise<DryRun<R>>;
  delete(identifier: number | string, options?: UpdateOptions): Promise<DryRun<R>>;
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

/** An effect of the write on records of a type. */
export interface DryRunEffect {
  readonly effect: 'created' | 'changed' | 'linked' | 'unlinked' | 'deleted';
  readonly type: string;
  readonly relation?: string;
  readonly keys?: readonly string[];
  readonly count: number;
  readonly identifiers: readonly (number | string)[];
}

export interface ViewOptions {
  /** The fields to show; `zone.name` for a field of a related record. */
  readonly fields?: string | readonly string[];
  /** The relations to show, such as `zone.owner`; default: by descriptor. */
  readonly include?: string | readonly string[];
  readonly variant?: string;
  /** Stops the call, which rejects with the signal's reason. A running write may still be committed. */
  readonly signal?: AbortSignal;
}

export interface UpdateOptions extends ViewOptions {
  /** Rejects with `precondition-failed` unless the record has this tag. */
  readonly ifMatch?: string;
}

export interface CreateOptions extends ViewOptions {
  /** Retries with this key resolve with the first result, or reject with `idempotency-conflict` if the body differs. */
  readonly idempotencyKey?: string;
}

export interface ListOptions extends ViewOptions {
  readonly where?: Where;
  readonly order?: Order;
  readonly limit?: number;
  readonly offset?: number;
  /** `next` of the previous page. */
  readonly after?: string;
  /** `previous` of the next page. */
  readonly before?: string;
  readonly count?: 'exact' | 'estimated' | 'none';
}

export interface ChangesOptions {
  /** The `cursor` of the last change; `'now'` for those to come. Default: from the oldest that is kept. */
  readonly after?: string;
  /** Default: all types with a history. */
  readonly types?: string | readonly string[];
  /** Whether changes have `old` and `new`. Default: false. */
  readonly values?: boolean;
  /** Stops the iteration, which throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A change, with the members of an entry of `GET /api/$changes`. */
export interface Change {
  readonly cursor: string;
  readonly at: string;
  readonly by: string | null;
  readonly request: string | null;
  readonly type: string;
  readonly identifier: number | string;
  readonly operation: 'create' | 'update' | 'delete' | 'link' | 'unlink';
  readonly relation?: string;
  readonly related?: number | string;
  /** The fields and relations that an update changed. */
  readonly keys?: readonly string[];
  readonly old?: JsonObject;
  readonly new?: JsonObject;
  /** Fields whose values are never recorded. */
  readonly unrecorded?: readonly string[];
}

/** Filters apply to records; order, limit and offset to groups. */
export interface SummaryOptions extends Omit<ListOptions, 'fields' | 'include' | 'after' | 'before' | 'count'> {
  /** The keys of groups: `['zone', 'month(date)']`; periods are day, week, month, quarter and year. Default: one group. */
  readonly by?: string | readonly string[];
  /** The measures of each group: `['count', 'sum(price)']`. Default: `count`. */
  readonly measure?: string | readonly string[];
  /** The time zone of periods: `Europe/Berlin`. Default: UTC. */
  readonly zone?: string;
  readonly count?: 'exact' | 'none';
}

/** Values as in JSON: sums of decimals are strings. */
export interface RecordGroup {
  readonly by: JsonObject;
  readonly measures: JsonObject;
}

export interface SummaryPage {
  readonly groups: readonly RecordGroup[];
  /** Number of groups, ignoring the limit; undefined with `count: 'none'`. */
  readonly total: number | undefined;
}

export interface RecordPage<R> {
  readonly records: readonly R[];
  /** Matching records, ignoring the limit; undefined with `count: 'none'`. */
  readonly total: number | undefined;
  /** The option `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
  /** The option `before` of the previous page; undefined on the first page. */
  readonly previous: string | undefined;
}

/** `'name'`, `'name desc'`, `['name', 'desc']`, or several: `['position desc', 'name']`. */
export type Order = string | readonly (string | readonly string[])[];

/**
 * Filters, combined by AND, as in the URL: `{ position: 10 }`, `{ position: { gte: 10, lt: 20 } }`,
 * `{ 'zone.name': { like: 'E*' } }`, `{ $any: [{ position: 10 }, { note: null }] }`. A list of values means `in`.
 */
export interface Where {
  readonly [name: string]: FilterValue | undefined;
}

export type FilterValue = null | boolean | number | bigint | string | Date | readonly FilterValue[] | Where;
