/** How much one request may ask for. */
export interface QueryLimits {
  /** Filters of a list. */
  readonly maxFilters: number;
  /** Relations that are shown, at all levels: each is a part of the statement that is built for it. */
  readonly maxIncludes: number;
}
