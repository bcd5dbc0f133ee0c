/** RFC 7396, written from its pseudocode, on texts: what a patch does not name stays as it is written. */
import { readJson, type Tree } from '../json-tree.ts';

export function mergePatch(target: string | undefined, patch: string): string {
  const read = readJson(patch);
  if (read === undefined) throw new Error(`not JSON: ${patch}`);
  return merged(target === undefined ? undefined : readJson(target), read);
}

function merged(target: Tree | undefined, patch: Tree): string {
  if (!patch.members) return patch.text;
  const texts = new Map([...(target?.members ?? [])].map(([key, { name = '', text }]) => [key, [name, text] as const]));
  for (const [key, member] of patch.members) {
    if (member.text === 'null') texts.delete(key);
    else texts.set(key, [texts.get(key)?.[0] ?? member.name ?? '', merged(target?.members?.get(key), member)]);
  }
  return `{${[...texts.values()].map(([name, text]) => `${name}:${text}`).join(',')}}`;
}
