/** How long answers are waited for, in milliseconds. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface Waited extends Waits {
  readonly contender: string;
  /** What of the machine the server had. */
  readonly cores: string;
  readonly situation: string;
  /** What else it did in a second. */
  readonly beside: string;
}
