/** JSON Merge Patch (RFC 7396, section 2) on texts: what the patch does not name stays as it was written, where it was. */
import { type Reading, readingOf, readMembers, skipValue, takeValue } from '../../raw-json.ts';

/** An object by its keys; anything else as its text. */
type Patch = string | ReadonlyMap<string, Change>;

interface Change {
  /** The key in its quotes. */
  readonly name: string;
  readonly patch: Patch;
}

export function mergePatch(target: string | undefined, patch: string): string {
  const changes = readPatch(readingOf(patch));
  return changed(readingOf(target ?? 'null'), changes) ?? 'null';
}

function readPatch(reading: Reading): Patch {
  if (reading.text[reading.at] !== '{') return takeValue(reading);
  const changes = new Map<string, Change>();
  readMembers(reading, (key, name) => changes.set(key, { name, patch: readPatch(reading) }));
  return changes;
}

/** The object that begins here, with its changes; goes behind it. Only the patch is held in parts: a target may be far longer. */
function merged(target: Reading, changes: ReadonlyMap<string, Change>): string {
  const members: string[] = [];
  const found = new Set<string>();
  readMembers(target, (key, name) => {
    const change = changes.get(key);
    const text = change === undefined ? takeValue(target) : changed(target, change.patch);
    if (change !== undefined) found.add(key);
    if (text !== undefined) members.push(`${name}:${text}`);
  });
  for (const [key, { name, patch }] of changes)
    if (!found.has(key) && patch !== 'null') members.push(`${name}:${typeof patch === 'string' ? patch : made(patch)}`);
  return `{${members.join(',')}}`;
}

/** What becomes of the value that begins here; undefined where it goes. */
function changed(target: Reading, patch: Patch): string | undefined {
  if (typeof patch !== 'string' && target.text[target.at] === '{') return merged(target, patch);
  skipValue(target);
  if (typeof patch !== 'string') return made(patch);
  return patch === 'null' ? undefined : patch;
}

/** Where there is no object yet. */
const made = (changes: ReadonlyMap<string, Change>): string => merged(readingOf('{}'), changes);
