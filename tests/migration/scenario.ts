/** A change of descriptors over records: what the plan says of it, and what the records are afterwards. */
export interface Scenario {
  readonly title: string;
  /** Descriptors by type. */
  readonly before: Readonly<Record<string, string>>;
  /** Bodies that are posted to paths, in order. */
  readonly records: readonly (readonly [path: string, body: unknown])[];
  /** Descriptors that are others now; null for one that is gone. */
  readonly after: Readonly<Record<string, string | null>>;
  /** Every step of the plan but those that one database alone needs, rebuilds and wider limits; in order, each with its state: `ready add-field:Book.price`. */
  readonly steps: readonly string[];
  /** What the plan says of the records. */
  readonly says?: readonly string[];
  /** Whether it cannot be applied at all. */
  readonly impossible?: true;
  /** What is answered afterwards. */
  readonly reads?: readonly (readonly [request: string, body: unknown])[];
}
