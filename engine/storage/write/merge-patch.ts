/** JSON Merge Patch (RFC 7396, section 2) on texts: what the patch does not name stays as it was written, where it was. */
import {
  isRawObject,
  type RawMember,
  rawObject,
  type Reading,
  readingOf,
  readMembers,
  takeValue,
} from '../../raw-json.ts';

/** An object by its keys; anything else as its text. */
type Tree = string | Map<string, Branch>;

interface Branch {
  /** The key in its quotes. */
  readonly name: string;
  readonly tree: Tree;
}

export function mergePatch(target: string | undefined, patch: string): string {
  if (!isRawObject(patch)) return patch;
  const before = target === undefined ? undefined : treeOf(readingOf(target));
  return textOf(merged(before, treeOf(readingOf(patch))));
}

function treeOf(reading: Reading): Tree {
  if (reading.text[reading.at] !== '{') return takeValue(reading);
  const branches = new Map<string, Branch>();
  readMembers(reading, (key, name) => branches.set(key, { name, tree: treeOf(reading) }));
  return branches;
}

function merged(target: Tree | undefined, patch: Tree): Tree {
  if (typeof patch === 'string') return patch;
  const branches = target instanceof Map ? target : new Map<string, Branch>();
  for (const [key, { name, tree }] of patch) {
    const known = branches.get(key);
    if (tree === 'null') branches.delete(key);
    else branches.set(key, { name: known?.name ?? name, tree: merged(known?.tree, tree) });
  }
  return branches;
}

const textOf = (tree: Tree): string => (typeof tree === 'string' ? tree : rawObject(members(tree)));

const members = (branches: ReadonlyMap<string, Branch>): readonly RawMember[] =>
  Array.from(branches.values(), ({ name, tree }) => ({ name, text: textOf(tree) }));
