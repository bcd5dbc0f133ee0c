/** The limits that protect the process, besides those that are settings. Only `createEngine` overrides them, for tests. */
export interface Limits {
  /** Keys in a request body, at all levels. */
  readonly bodyKeys: number;
  /** Levels of nested objects and arrays in a request body. */
  readonly bodyDepth: number;
  /** Items in an array of a request body. */
  readonly bodyItems: number;
  /** Records in the array that a POST creates or a PATCH changes. */
  readonly batchLimit: number;
  /** Rows that one write may touch, including those it deletes or unlinks. */
  readonly writeRows: number;
  /** Characters of a URL. */
  readonly urlLimit: number;
  /** Bytes of the request line and headers together. */
  readonly headerLimit: number;
  /** Filters in a list request. */
  readonly maxFilters: number;
  /** Relations that a request may show, at all levels. */
  readonly maxIncludes: number;
  /** Whole lists read at the same time; the default is the driver's: 64 on SQLite, `pool` on PostgreSQL. */
  readonly maxStreams: number | undefined;
  /** Milliseconds that a client may leave a response unread, besides those to read it. */
  readonly slowReaderTimeout: number;
  /** Milliseconds for open requests to end after SIGTERM and DRAIN_DELAY. */
  readonly shutdownTimeout: number;
}

export const LIMITS: Limits = {
  bodyKeys: 20_000,
  bodyDepth: 64,
  bodyItems: 10_000,
  batchLimit: 1000,
  writeRows: 10_000,
  urlLimit: 16_000,
  headerLimit: 32_768,
  maxFilters: 50,
  maxIncludes: 100,
  maxStreams: undefined,
  slowReaderTimeout: 30_000,
  // "docker stop" kills after 10 seconds, and DRAIN_DELAY is 3 in the image.
  shutdownTimeout: 6000,
};
