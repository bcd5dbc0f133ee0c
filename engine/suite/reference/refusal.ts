/** A write that the contract refuses, found while the reference model works it out. */

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /** JSON Pointers into the body. */
  readonly pointers: readonly string[];

  constructor(status: number, pointers: readonly string[], why: string) {
    super(why);
    this.status = status;
    this.pointers = pointers;
  }
}
