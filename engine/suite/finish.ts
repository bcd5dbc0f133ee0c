/** The end of a case: what removes again what its requests made. */
import type { RecordType } from '../model/model.ts';
import { guard, itemPath } from './addresses.ts';
import type { Case } from './case.ts';
import { Refusal } from './reference/refusal.ts';
import { type Id, rowsOf } from './reference/world.ts';
import { type Scenario, step } from './scenario.ts';

interface Address {
  readonly type: RecordType;
  readonly id: Id;
}

/** The records that the type lets clients delete and whose identifiers some answer showed, the youngest first. */
function removable({ model, reference, steps }: Scenario): readonly Address[] {
  const seen = JSON.stringify(steps.map(({ expect }) => expect));
  const isSeen = (id: Id): boolean => typeof id === 'number' || seen.includes(`"${id}"`) || seen.includes(`{${id}}`);
  const types = [...model.types.values()].filter((type) => type.operations.has('delete'));
  const all = types.flatMap((type) => [...rowsOf(reference.world, type).keys()].map((id) => ({ type, id })));
  return all.filter(({ id }) => isSeen(id)).toReversed();
}

/** Whether the record could be deleted, or was gone already. */
function cleanUp(scenario: Scenario, { type, id }: Address): boolean {
  if (!rowsOf(scenario.reference.world, type).has(id)) return true;
  const outcome = scenario.reference.remove(type, id);
  if (outcome instanceof Refusal) return false;
  const request = { method: 'DELETE', path: itemPath(type, id), ...guard(type) };
  step(scenario, request, { status: 200, body: outcome.body }, outcome.changes);
  return true;
}

/** Deletes what can be deleted: what others refer to comes after them, which may take another round. */
function cleanUpAll(scenario: Scenario): void {
  let left = removable(scenario);
  for (let before = Infinity; left.length < before;) {
    before = left.length;
    left = left.filter((address) => !cleanUp(scenario, address));
  }
}

function leftOvers(scenario: Scenario): Record<string, number> {
  const counts = [...scenario.reference.world.rows].map(([type, rows]) => [type.name, rows.size] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** The case with everything that the reference model knows how to remove again. */
export function finish(scenario: Scenario, about: Pick<Case, 'type' | 'group' | 'title' | 'irreversible'>): Case {
  const count = scenario.steps.length;
  cleanUpAll(scenario);
  const steps = scenario.steps.slice(0, count);
  return { ...about, steps, cleanup: scenario.steps.slice(count), leaves: leftOvers(scenario) };
}
