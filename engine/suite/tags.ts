/** Entity tags as the oracle has them: what each stands for, and what a request demands of it. */
import type { JsonObject, JsonValue } from '../json.ts';
import { type CallSetting, header, tagPlace } from './admission.ts';
import type { Call } from './call.ts';
import { representAll } from './reads.ts';
import { refuse, refuseAt } from './refusal.ts';
import { type Id, rowOf, type World } from './world.ts';

/** A record as the view of a request shows it; undefined where there is none. */
export const representation = (
  world: World,
  { type, view = {} }: Pick<Call, 'type' | 'view'>,
  id: Id,
): JsonObject | undefined => {
  const row = rowOf(world, type, id);
  return row && representAll(world, type, [row], view)[0];
};

/** What an entity tag stands for: the same text, the same tag. */
export const tagged = ({ type, list, view }: Call, ...content: readonly unknown[]): string =>
  JSON.stringify([type.name, list ?? {}, view ?? {}, content]);

/** Whether If-Match or If-None-Match names the tag. Weak ones and those of a coding only do where nothing is written. */
export function names(world: World, value: string, content: string, weakly: boolean): boolean {
  const listedTags = value.split(',').map((one) => one.trim());
  return listedTags.some((one) => {
    const [, weak, name = ''] = /^(W\/)?"\{(.*?)\}(-\w+)?"$/.exec(one) ?? [];
    return one === '*' || (world.tags.get(name) === content && (weakly || weak === undefined));
  });
}

/** Where nothing is there, a record is made. */
const isUnguarded = ({ on, unguarded }: Call, there: JsonObject | undefined): boolean =>
  on === undefined ? unguarded === true : there !== undefined;

/** `there`: what GET of the same address would answer; undefined where nothing is there. */
export function checkPreconditions({ world, call }: CallSetting, there: JsonObject | undefined): void {
  const [match, noneMatch] = [header(call, 'if-match'), header(call, 'if-none-match')];
  const fail = (name: string): never => refuse('precondition-failed', { headers: [name] });
  if (match === undefined && isUnguarded(call, there) && call.type.preconditions === 'required')
    refuse('precondition-required', { headers: ['If-Match'] });
  if (match !== undefined && (there === undefined || !names(world, match, tagged(call, there), false)))
    fail('If-Match');
  if (noneMatch !== undefined && there !== undefined && names(world, noneMatch, tagged(call, there), true))
    fail('If-None-Match');
}

/** Each item that is changed may have a tag, or must. */
export function checkTags(
  { world, call }: CallSetting,
  tags: readonly (JsonValue | undefined)[],
  there: readonly (JsonObject | undefined)[],
): void {
  if (call.method === 'POST' && call.on === undefined) return;
  // What is not there yet is made.
  const isThere = (index: number): boolean => call.on === undefined || there[index] !== undefined;
  const untold = tags.flatMap((tag, index) => (tag === undefined && isThere(index) ? [tagPlace(index)] : []));
  const wrong = tags.flatMap((tag, index) =>
    tag === undefined || names(world, String(tag), tagged(call, there[index]), false) ? [] : [tagPlace(index)],
  );
  const isRequired = call.type.preconditions === 'required';
  // One kind is told: that of the first.
  if (isRequired && untold[0] !== undefined && (wrong[0] === undefined || isBefore(untold[0], wrong[0])))
    refuseAt('precondition-required', untold);
  refuseAt('precondition-failed', wrong);
}

const isBefore = (a: string, b: string): boolean => Number(a.split('/')[1]) < Number(b.split('/')[1]);
