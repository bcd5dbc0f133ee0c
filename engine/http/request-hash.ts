/** What a request asks for, as a short text: the same for a retry, another one for another request. */
import { createHash } from 'node:crypto';
import type { Content } from './content.ts';
import { fullPath, type Target } from './target.ts';

export function requestHash(method: string, target: Target, content: Content): string {
  const body = 'parsed' in content ? JSON.stringify(content.parsed) : content;
  return createHash('sha256')
    .update(`${method} ${fullPath(target)}?${target.query}\n`)
    .update(body)
    .digest('base64url');
}
