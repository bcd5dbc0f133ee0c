/** Why the engine cannot start, said so that it can be printed as it is. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
