/**
 * New records that refer to each other by the identifiers that the body gives them. Each is inserted after those that it
 * links; in a circle, a link that may be null is set once both records are there.
 */
import { append } from '../../append.ts';
import { isNode } from './members.ts';
import type { Assigned, Node, WriteSession } from './session.ts';

interface LateLink {
  readonly node: Node;
  readonly column: string;
  readonly link: Assigned;
}

/** A link of a new record to another one. */
interface NewLink extends LateLink {
  readonly target: Node;
  readonly required: boolean;
}

/** What a new record waits for: links, and how many of them it cannot be inserted without. */
interface Awaiting {
  readonly links: readonly NewLink[];
  left: number;
  required: number;
}

/** No circle is of required links only: no such types are served. */
export function findLateLinks(session: WriteSession): readonly LateLink[] {
  if (session.awaited.size === 0) return [];
  const waiting = new Map(session.made.map((node) => [node, waitingOf(node)] as const));
  const linksTo = Map.groupBy(
    [...waiting.values()].flatMap(({ links }) => links),
    ({ target }) => target,
  );
  const ready = session.made.filter((node) => waiting.get(node)?.left === 0);
  const free = session.made.filter((node) => waiting.get(node)?.required === 0);
  const late: LateLink[] = [];
  const take = (): void => {
    for (let node = ready.pop(); node; node = ready.pop()) {
      waiting.delete(node);
      for (const link of linksTo.get(node) ?? []) {
        const other = waiting.get(link.node);
        if (!other) continue;
        other.left -= 1;
        if (link.required) other.required -= 1;
        if (other.left === 0) ready.push(link.node);
        else if (other.required === 0) free.push(link.node);
      }
    }
  };
  take();
  // More are added while the first ones are looked at.
  for (const node of free) {
    const links = waiting.get(node)?.links ?? [];
    append(
      late,
      links.filter(({ target }) => waiting.has(target)),
    );
    if (!waiting.has(node)) continue;
    ready.push(node);
    take();
  }
  return late;
}

function waitingOf(node: Node): Awaiting {
  const required = new Set(node.type.references.flatMap((one) => (one.required ? [one.column] : [])));
  const links = [...node.assigned].flatMap(([column, link]): readonly NewLink[] => {
    const target = link.value;
    // A record can be inserted with a link to itself.
    if (!isNode(target) || target.stored || target === node) return [];
    return [{ node, column, link, target, required: required.has(column) }];
  });
  return { links, left: links.length, required: links.filter((one) => one.required).length };
}
