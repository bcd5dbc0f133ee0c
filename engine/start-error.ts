/** Why the engine cannot start; the message can be printed as it is. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/** The database cannot be reached, or is still starting: a start may wait for it. */
export class NotYetThere extends StartError {}

/** Why something failed, for the message of another error. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
