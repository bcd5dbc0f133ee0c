/** PUT of a collection: what is found by unique values is changed, and what is not found is made. */
import type { JsonObject } from '../../json.ts';
import type { RecordType } from '../../model/model.ts';
import { type Call, linkTo } from '../call.ts';
import { fullest, memberValues, nestedBody, settableUniques, smallest, type Unique } from '../samples.ts';
import { type Context, get, list, type Scene, send } from '../scene.ts';
import { each, type Rule, single, table } from './rule.ts';

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
