/** Idempotency keys: the same write again, after its answer was lost, has the same key, and so is done once. */
import { writeJson } from './json.ts';
import type { Sent } from './request.ts';

/** `crypto.randomUUID` is there on secure origins only. */
export const randomText = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export function createAttempts() {
  let last: { readonly text: string; readonly key: string } | undefined;
  return {
    /** The write with its key. */
    keyed(sent: Sent): Sent {
      const { method, target, headers = {}, body = null } = sent;
      const text = [method, target, headers['If-Match'], writeJson(body)].join('\n');
      if (last?.text !== text) last = { text, key: randomText() };
      return { ...sent, headers: { ...headers, 'Idempotency-Key': last.key } };
    },
    /** It was answered: the next one is another, even if it says the same. */
    done: (): void => (last = undefined),
  };
}
