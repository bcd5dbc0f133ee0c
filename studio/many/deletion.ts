/** Deletes many records, in parts that the service takes; what goes with them is found out first. */
import { isValueObject, textOf, type Value } from '../data/json.ts';
import { textOfWhere } from '../data/where.ts';
import { type StudioModel, withIdentifiers } from '../data/model.ts';
import { send } from '../data/request.ts';
import { type Chosen, inParts, isRefused, type LeftOut, patiently } from './chosen.ts';
import { type Effect, effectsIn } from './effects.tsx';
import type { WorkTools } from './use-work.ts';

/** Records that go in one request, and how many rows that affects. */
export interface Part {
  readonly ids: readonly string[];
  readonly affected: number;
}

export interface Deletion {
  readonly parts: readonly Part[];
  readonly effects: readonly Effect[];
  readonly leftOut: readonly LeftOut[];
}

/** Values of one filter. */
const MOST = 100;

/** Each part is tried. One that is refused is tried in halves, down to the records that are in the way. */
export async function lookAhead(
  model: StudioModel,
  chosen: Chosen,
  ids: readonly string[],
  { signal, report, isStopped }: WorkTools,
): Promise<Deletion | undefined> {
  const parts: Part[] = [];
  const leftOut: LeftOut[] = [];
  const counted = new Map<string, Effect>();
  const waiting = [...inParts(ids, MOST)];
  let done = 0;
  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    if (isStopped()) return undefined;
    const tried = part;
    try {
      const body = await patiently(() => remove(chosen, tried, model.limits.writeRows, true, signal), signal);
      const effects = effectsIn(body);
      parts.push({ ids: part, affected: effects.reduce((sum, { count }) => sum + count, 0) });
      for (const effect of effects) add(counted, effect);
    } catch (problem) {
      if (!isRefused(problem)) throw problem;
      const half = Math.ceil(part.length / 2);
      if (part.length > 1) {
        waiting.unshift(part.slice(0, half), part.slice(half));
        continue;
      }
      leftOut.push({ id: part.join(), problem });
    }
    done += part.length;
    report({ done, total: ids.length });
  }
  return { parts, leftOut, effects: [...counted.values()] };
}

function add(counted: Map<string, Effect>, effect: Effect): void {
  const key = `${effect.type} ${effect.isDeleted}`;
  counted.set(key, { ...effect, count: effect.count + (counted.get(key)?.count ?? 0) });
}

/** How many there were to delete. More than was found out before is refused. */
export async function removePart(chosen: Chosen, { ids, affected }: Part, signal: AbortSignal): Promise<number> {
  const body = await patiently(() => remove(chosen, ids, affected, false, signal), signal);
  return isValueObject(body) ? Number(textOf(body['deleted'])) : 0;
}

/** `most`: as many records as may be deleted or unlinked. */
async function remove(
  { type, where, ids: selected }: Chosen,
  ids: readonly string[],
  most: number,
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<Value> {
  // One that the filters do not find any more stays.
  const isFiltered =
    selected === undefined && where.every(([name]) => !name.startsWith(`_cnd[${type.identifier.name}]`));
  const query = textOfWhere([
    ...(isFiltered ? where : []),
    ...withIdentifiers(type, ids),
    ...(isDryRun ? [['dryRun', 'true'] as const] : []),
  ]);
  const headers = { Prefer: `max-affected=${most}` };
  return (await send({ method: 'DELETE', target: `${type.path}?${query}`, headers }, signal)).body;
}
