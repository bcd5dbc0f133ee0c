/** What a request is answered with. Operations build it; one writer sends it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text is sent whole, with its length; pieces are sent as they come; undefined is no content at all. */
  readonly body: string | AsyncIterable<string> | undefined;
}

export const JSON_TYPE = 'application/json';
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';
export const NDJSON_TYPE = 'application/x-ndjson';
export const CSV_TYPE = 'text/csv';
export const PROBLEM_TYPE = 'application/problem+json';
