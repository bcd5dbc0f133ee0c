/** A change of descriptors over records: what the plan says of it, and what the records are afterwards. */
export interface Scenario {
  readonly title: string;
  readonly before: Readonly<Record<string, string>>;
  /** Bodies that are posted to paths, in order: `books {"title":"One"}`. */
  readonly records: readonly (string | readonly [path: string, body: unknown])[];
  readonly after: Readonly<Record<string, string | null>>;
  /** Every step of the plan but those that one database alone needs, rebuilds and wider limits; in order, each with its state: `ready add-field:Book.price`. */
  readonly steps: readonly string[];
  readonly says?: readonly string[];
  readonly impossible?: true;
  /** What is answered afterwards: `GET /api/books/1 => {"id":1,"title":"One"}`; `*` stands for anything. */
  readonly reads?: readonly (string | readonly [request: string, body: unknown])[];
}

export function rowOf(row: string | readonly [request: string, body: unknown], separator = ' => ') {
  if (typeof row !== 'string') return row;
  const at = row.indexOf(separator);
  const text = row.slice(at + separator.length);
  return [row.slice(0, at), text === '*' ? expect.anything() : (JSON.parse(text) as unknown)] as const;
}
