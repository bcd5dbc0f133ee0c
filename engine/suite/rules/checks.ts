/** Checks across fields: combinations of values that meet them and that do not, all at once and one after the other. */
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Check, Field } from '../../model/model.ts';
import { candidates } from '../checks.ts';
import { type Context, get, put, type Scene, send, shownAs, WAYS } from '../scene.ts';
import { obtain, smallest } from '../samples.ts';
import { rowOf } from '../world.ts';
import { each, offers, type Rule, table, type TableRow } from './rule.ts';

/** Combinations of each check that are tried. */
const MAX_COMBINATIONS = 24;

const writable = ({ type }: Pick<Context, 'type'>, { fields }: Check): readonly Field[] =>
  fields.filter((field) => !field.readOnly && !field.unique && type.defaultVariant.fields.includes(field));

const checksOf = (context: Context): readonly Check[] =>
  context.type.checks.filter((check) => writable(context, check).length > 0);

/** Values of all its fields; where there are too many combinations, some of them. */
function combinations(scene: Scene, check: Check): readonly JsonObject[] {
  let all: readonly JsonObject[] = [{}];
  for (const field of writable(scene, check)) {
    const values = [...new Map(candidates(field).map((value) => [JSON.stringify(value), value])).values()];
    all = all.flatMap((body) => values.map((value): JsonObject => ({ ...body, [field.name]: value as JsonValue })));
  }
  const stride = Math.ceil(all.length / MAX_COMBINATIONS);
  // An odd stride meets every value of a field in turn.
  return all.filter((_, index) => index % (stride + 1 - (stride % 2)) === 0);
}

/** A case for each check, told by its message. */
const eachCheck = (method: string, when: ReturnType<typeof offers>, requests: (scene: Scene, check: Check) => void) =>
  each(
    `${method}, met and broken: {}`,
    when,
    (context) => checksOf(context).map((check) => ({ check, name: check.message })),
    (scene, { check }) => requests(scene, check),
  );

const update = (method: string): TableRow =>
  eachCheck(method, offers('update'), (scene, check) => {
    const id = obtain(scene, scene.type, smallest(scene));
    // What an adopted record holds is known from here on.
    if (rowOf(scene.world, scene.type, id)?.adopted) put(scene, id, combinations(scene, check)[0] ?? {});
    for (const body of combinations(scene, check)) {
      send(scene, { method, id, body });
      for (const [name, value] of Object.entries(body)) send(scene, { method, id, body: { [name]: value } });
    }
    send(scene, { method, id, body: shownAs(scene, id) });
    get(scene, id);
  });

export const checkRules: readonly Rule[] = table(
  'checks',
  eachCheck('POST', offers('create'), (scene, check) => {
    const [first = {}] = combinations(scene, check);
    for (const body of [...combinations(scene, check), { ...first, [check.at.name]: {} }])
      send(scene, { method: 'POST', body: { ...smallest(scene), ...body } });
  }),
  ...WAYS.map(update),
);
