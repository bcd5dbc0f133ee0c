/** Faults to plant, each as the words of the source that it replaces. */
export interface Edit {
  /** Stands once in engine/, however it is laid out; the suites themselves are left alone. */
  readonly find: string;
  readonly replace: string;
  /** What the file exports, where the words stand in several. */
  readonly exporter?: string;
}

export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** The schema whose suites are tried first. */
  readonly schema?: string;
}

export const mutant = (name: string, find: string, replace: string, exporter?: string): Mutant => ({
  name,
  edits: [{ find, replace, ...(exporter && { exporter }) }],
});

/** What no answer to a request shows, or only one that the suites do not send: a test that is about it finds it. */
export interface MutantOfTest extends Mutant {
  readonly file: string;
}

export const inTest = (file: string, ...faults: readonly Mutant[]): readonly MutantOfTest[] =>
  faults.map((fault) => ({ ...fault, file: `tests/${file}.test.ts` }));
