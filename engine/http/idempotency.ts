/** `Idempotency-Key`: how a client says that a request is the same as before. */
import type { Once } from '../storage/store.ts';
import type { Content } from './content.ts';
import type { Exchange } from './exchange.ts';
import { Problem } from '../problem.ts';
import { requestHash } from './request-hash.ts';
import type { Service } from './service.ts';

/** Visible ASCII. The draft standard has quotes around it, most clients have none. */
const KEY = /^[!-~]{1,255}$/;
const HOUR = 3_600_000;

type Scope = Pick<Service, 'scope' | 'idempotencyHours'>;

/** undefined where the client sends no key. */
export function onceOf(
  { request, target }: Exchange,
  content: Content,
  { scope, idempotencyHours }: Scope,
): Once | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key)) throw badKey();
  const now = new Date();
  const keptSince = new Date(now.getTime() - idempotencyHours * HOUR);
  return { key: scope + key, hash: requestHash(request.method ?? '', target, content), now, keptSince };
}

function badKey(): Problem {
  const message = 'Idempotency-Key must have 1 to 255 visible ASCII characters, such as a UUID';
  return new Problem('invalid-header', message, {
    errors: [{ header: 'Idempotency-Key', code: 'invalid-value', message }],
  });
}
