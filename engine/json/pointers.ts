/** JSON pointers (RFC 6901). */

/** RFC 6901: `/a~1b/0` for `['a/b', 0]`; the empty string for the whole. */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${escapeStep(step)}`).join('');
}

export function escapeStep(step: string | number): string {
  const text = String(step);
  // Optimized: every key of every write needs this.
  return text.includes('/') || text.includes('~') ? text.replaceAll('~', '~0').replaceAll('/', '~1') : text;
}

/** The pointer and its ancestors: `/a/0` and `/a` for `/a/0`. */
export function enclosing(start: string): readonly string[] {
  const pointers: string[] = [];
  for (let rest = start; rest !== ''; rest = rest.slice(0, rest.lastIndexOf('/'))) pointers.push(rest);
  return pointers;
}

export const unescapedSteps = (text: string): readonly string[] => text.split('/').slice(1).map(unescapedStep);

export const unescapedStep = (step: string): string =>
  step.includes('~') ? step.replaceAll('~1', '/').replaceAll('~0', '~') : step;
