/** Records that a request finds: PUT by their unique values, which makes them where there are none; DELETE by filters. */
import type { JsonObject } from '../../../engine/json.ts';
import type { RecordType } from '../../../engine/model/model.ts';
import { type Call, deletesFound, foundDeletion, linkTo, MISSING_ID } from '../call.ts';
import type { ConditionRequest } from '../reads.ts';
import { fullest, memberValues, nestedBody, obtain, settableUniques, smallest, type Unique } from '../samples.ts';
import { type Context, get, isRemovable, list, look, post, type Scene, send } from '../scene.ts';
import { type Id, rowsTouched } from '../world.ts';
import { each, offers, relations, type Rule, rule, single, table } from './rule.ts';

const settable = ({ type }: Pick<Context, 'type'>): readonly Unique[] => settableUniques(type);
const isUpserted = (type: RecordType): boolean => settableUniques(type).length > 0;

const asked = ({ members }: Unique, body: JsonObject, more: Partial<Call> = {}): Omit<Call, 'type'> => ({
  method: 'PUT',
  on: members.map(({ name }) => name).toReversed(),
  body,
  ...more,
});

/** Made, then changed twice, each tried before. */
function life(scene: Scene, unique: Unique, whole: (scene: Scene) => JsonObject): void {
  const values = memberValues(scene, unique);
  const body = { ...whole(scene), ...values };
  send(scene, asked(unique, body, { dryRun: true }));
  const [id] = send(scene, asked(unique, body)).ids ?? [];
  if (id === undefined) return;
  get(scene, id);
  for (const change of [values, { ...smallest(scene), ...values }, { ...fullest(scene), ...values }]) {
    send(scene, asked(unique, change, { dryRun: true }));
    send(scene, asked(unique, change));
    get(scene, id);
  }
  list(scene, [id]);
}

const NEVER = { 'if-none-match': '*' };
const ANY = { 'if-match': '*' };
const OTHER = { 'if-match': '"other"' };

export const upsertRules: readonly Rule[] = table(
  'upserts',
  each('PUT by {}', isUpserted, settable, (scene, unique) => life(scene, unique, fullest)),
  each('PUT by {} with records nested in it', isUpserted, settable, (scene, unique) => life(scene, unique, nestedBody)),
  each('PUT by {} under conditions, and without an answer', isUpserted, settable, (scene, unique) => {
    const body = { ...fullest(scene), ...memberValues(scene, unique) };
    for (const headers of [ANY, OTHER, NEVER]) send(scene, asked(unique, body, { headers }));
    for (const headers of [NEVER, OTHER, {}, ANY, { prefer: 'return=minimal', ...ANY }])
      send(scene, asked(unique, body, { headers }));
    const headers = { prefer: 'return=representation' };
    const other = { ...fullest(scene), ...memberValues(scene, unique) };
    const [id] = send(scene, asked(unique, other, { headers })).ids ?? [];
    send(scene, asked(unique, other, { headers }));
    if (id === undefined || !scene.type.identifier.inRecord) return;
    // Another new record with its identifier.
    send(scene, asked(unique, { ...fullest(scene), ...memberValues(scene, unique), ...linkTo(scene.type, id) }));
  }),
  each('PUT by {} without a value of it', isUpserted, settable, (scene, unique) => {
    const body = { ...fullest(scene), ...memberValues(scene, unique) };
    for (const { name } of unique.members) {
      const { [name]: _, ...rest } = body;
      send(scene, asked(unique, rest));
      send(scene, asked(unique, { ...body, [name]: null }));
    }
  }),
  single(isUpserted, () =>
    ['on=', 'on=keyOfTheSuite', 'on=a,b'].map((wrong) => ({ method: 'PUT', body: {}, wrong: [wrong] })),
  ),
);

// DELETE by filters: what goes with the records, how many they may be, and what is refused.

const canDelete = (type: RecordType): boolean => offers('create')(type) && deletesFound(type);

/** Those of the records, whatever else is in the database. */
const these = ({ type }: Pick<Scene, 'type'>, ids: readonly Id[]): readonly ConditionRequest[] => [
  { path: type.identifier.name, operator: 'in', ids },
];

/** Relations of many to many among the records of the type. */
const ownLinks = relations(
  ({ link, target, source }) => link.at === 'join' && target === source && target.identifier.inRecord,
);

const nobody = ({ identifier: { name } }: RecordType): readonly ConditionRequest[] => [
  { path: name, operator: 'in', ids: [MISSING_ID] },
];

/** Ways to ask for a deletion that must not be carried out. */
function refused(type: RecordType): readonly Omit<Call, 'type'>[] {
  const deletion = foundDeletion(nobody(type), 1);
  const prefer = ['max-affected', 'max-affected=', 'max-affected=-1', 'max-affected=some', 'return=minimal'];
  const wrong = ['_cnd[limit]=1', '_cnd[limit][1]=1', '_cnd[orderBy]=x', 'after=x', 'fields=', 'include=', 'dryRun=2'];
  return [
    foundDeletion([], 1),
    { ...foundDeletion([], 1), dryRun: true },
    { ...deletion, headers: {} },
    ...prefer.map((value) => ({ ...deletion, headers: { prefer: value } })),
    ...wrong.map((one) => ({ ...deletion, wrong: [one] })),
    ...['if-match', 'if-none-match'].map((name) => ({ ...deletion, headers: { ...deletion.headers, [name]: '*' } })),
  ];
}

export const deletionRules: readonly Rule[] = table(
  'deletions by filters',
  rule('DELETE some of several records', canDelete, (scene) => {
    const [first, second, third] = [post(scene, nestedBody(scene)), post(scene, smallest(scene)), obtain(scene)];
    const ids = [first, second, third];
    if (!ids.every((id) => isRemovable(scene, id))) return;
    const affected = rowsTouched(scene.world, scene.type, [first, second]);
    const some = these(scene, [first, second]);
    for (const most of [affected - 1, 0, 1]) send(scene, { ...foundDeletion(some, most), dryRun: true });
    if (affected > 1) send(scene, foundDeletion(some, affected - 1));
    look(scene, ids);
    send(scene, { ...foundDeletion(some, affected), dryRun: true });
    look(scene, ids);
    send(scene, foundDeletion(some, affected));
    look(scene, ids);
    send(scene, foundDeletion(some, affected));
  }),
  // A link goes with either of its records, and counts once.
  each('DELETE records that are linked by {}', canDelete, ownLinks, (scene, { name, target }) => {
    const first = post(scene, smallest(scene));
    const second = post(scene, { ...smallest(scene), [name]: [linkTo(target, first)] });
    const ids = [first, second];
    const affected = rowsTouched(scene.world, scene.type, ids);
    send(scene, foundDeletion(these(scene, ids), affected - 1));
    look(scene, ids);
    send(scene, foundDeletion(these(scene, ids), affected));
    look(scene, ids);
  }),
  rule('DELETE of what a group finds', canDelete, (scene) => {
    const ids = [post(scene, fullest(scene)), post(scene, fullest(scene)), post(scene, smallest(scene))];
    const [first, second, third] = ids.map((id) => these(scene, [id]));
    const group: ConditionRequest = { group: '$any', items: [first ?? [], third ?? []] };
    send(scene, foundDeletion([group, ...these(scene, ids.slice(0, 2))], 1000));
    look(scene, ids);
    const none: ConditionRequest = { group: '$none', items: [second ?? []] };
    send(scene, foundDeletion([...these(scene, ids), none], 1000));
    look(scene, ids);
  }),
  rule('DELETE for which the client prefers no answer', canDelete, (scene) => {
    const id = post(scene, smallest(scene));
    const headers = { prefer: 'max-affected=1000, return=minimal' };
    send(scene, { ...foundDeletion(these(scene, [id]), 1000), headers });
    look(scene, [id]);
  }),
  rule('DELETE where nothing is found, and where nothing may be', deletesFound, (scene) => {
    const none = foundDeletion(nobody(scene.type), 1);
    send(scene, none);
    send(scene, { ...none, headers: { prefer: 'max-affected=1, return=minimal' } });
    const id = obtain(scene);
    send(scene, foundDeletion(these(scene, [id]), 0));
    look(scene, [id]);
  }),
  single(deletesFound, refused),
);
