/** What a command has found out: as text, as data, as a picture. */
export interface Report {
  readonly text: string;
  readonly data: unknown;
  /** SVG. */
  readonly chart: string;
  readonly failed?: boolean;
}
