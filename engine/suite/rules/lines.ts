/** Records on lines, as NDJSON and CSV: POST makes them, and with `on` changes those that are there. */
import { isObject, type JsonObject, parsedJson } from '../../json.ts';
import type { RecordType } from '../../model/model.ts';
import { CSV, NDJSON } from '../call.ts';
import { Unreachable } from '../refusal.ts';
import { fullest, memberValues, nestedBody, settableUniques, smallest } from '../samples.ts';
import { look, postMany, type Scene, send } from '../scene.ts';
import { isField } from '../world.ts';
import { each, identified, isWritable, offers, type Rule, rule, single, table } from './rule.ts';

const FORMS = [NDJSON, CSV] as const;

/** What a table holds of a body: fields, and links to one record. */
function tableBody({ type }: Scene, body: JsonObject): JsonObject {
  const entries = Object.entries(body).filter(([key]) => type.fields.has(key) || type.relations.has(key));
  for (const [key, value] of entries) {
    const relation = type.relations.get(key);
    const isLink = isObject(value) && Object.keys(value).join() === relation?.target.identifier.name;
    if (relation && (relation.toMany || !isLink)) throw new Unreachable(`${key} is not for a table`);
  }
  if (entries.length === 0) throw new Unreachable('a table needs a column');
  return Object.fromEntries(entries);
}

const bodyFor = (scene: Scene, lines: string): JsonObject =>
  lines === CSV ? tableBody(scene, fullest(scene)) : fullest(scene);

/** Null where that may be. */
function withNulls({ type }: Scene, body: JsonObject): JsonObject {
  if (type.checks.length > 0) return body;
  const isNull = (key: string): boolean => {
    const field = type.fields.get(key);
    return field !== undefined && field.nullable && !field.required && field.generated === undefined;
  };
  const nulls = Object.keys(body).filter(isNull);
  // A line without any cell is no record.
  const chosen = nulls.length < Object.keys(body).length ? nulls : nulls.slice(1);
  return { ...body, ...Object.fromEntries(chosen.map((key) => [key, null])) };
}

const isUpserted = (type: RecordType): boolean => identified('get')(type) && settableUniques(type).length > 0;

export const lineRules: readonly Rule[] = table(
  'lines',
  each(
    'POST {}',
    identified('create'),
    () => FORMS,
    (scene, lines) => {
      const bodies = [bodyFor(scene, lines), withNulls(scene, bodyFor(scene, lines))];
      send(scene, { method: 'POST', body: bodies, lines, dryRun: true });
      look(scene, postMany(scene, bodies, { lines }));
      for (const name of ['if-match', 'if-none-match'])
        send(scene, { method: 'POST', body: bodies, lines, headers: { [name]: '*' } });
    },
  ),
  rule('POST NDJSON of nested records', identified('create'), (scene) => {
    if (scene.type.relations.size === 0) throw new Unreachable('nothing is nested');
    look(scene, postMany(scene, [nestedBody(scene), smallest(scene)], { lines: NDJSON }));
  }),
  each(
    'POST {} with faults',
    offers('create'),
    () => FORMS,
    (scene, lines) => {
      const whole = bodyFor(scene, lines);
      const fields = scene.type.defaultVariant.fields.filter((one) => isWritable(scene.type, one));
      for (const field of fields.filter(({ generated }) => generated === undefined)) {
        const { type } = field.type.schema(field);
        const bad = field.type.bad(field).find((one) => typeof one === 'string' && /^[ -~]+$/.test(one));
        // A text is what any cell holds.
        if (bad === undefined || type === undefined) continue;
        if (lines === CSV && type !== 'string' && parsedJson(String(bad)) !== undefined) continue;
        send(scene, { method: 'POST', body: [whole, { ...whole, [field.name]: bad }], lines });
      }
    },
  ),
  each(
    'POST {} by unique values',
    isUpserted,
    () => [...FORMS, 'application/json'],
    (scene, form) => {
      const lines = form === 'application/json' ? {} : { lines: form };
      for (const { members } of settableUniques(scene.type).slice(0, 2)) {
        const on = members.map(({ name }) => name).toReversed();
        const bodyOf = (): JsonObject => ({ ...bodyFor(scene, form), ...memberValues(scene, { members }) });
        const [first, second] = [bodyOf(), bodyOf()];
        const same = Object.fromEntries(members.map(({ name }) => [name, first[name] ?? null]));
        const again = { ...bodyFor(scene, form), ...same };
        send(scene, { method: 'POST', on, body: [first], ...lines });
        send(scene, { method: 'POST', on, body: [second, again], ...lines, dryRun: true });
        if (scene.type.preconditions === 'required') {
          send(scene, { method: 'POST', on, body: [second, again], ...lines });
          continue;
        }
        const { ids = [] } = send(scene, { method: 'POST', on, body: [second, again], ...lines });
        // Of new records such an answer would not tell the identifiers, and they could not be removed again.
        const minimal = { headers: { prefer: 'return=minimal' } };
        send(scene, { method: 'POST', on, body: [again, second], ...lines, ...minimal });
        look(scene, ids);
        if (form === 'application/json')
          send(scene, { method: 'POST', on, body: again, headers: { prefer: 'return=representation' } });
        // Two children of one owner are refused at both places.
        if (members.every(isField)) send(scene, { method: 'POST', on, body: [again, second, again], ...lines });
        // Only new records need all that is required.
        const known = neededBeside(scene.type, on).length > 0 ? [second, bodyOf()] : [];
        for (const body of known)
          send(scene, { method: 'POST', on, body: [withoutNeeded(scene.type, on, body)], ...lines });
        const [name = ''] = on;
        // An empty line is no record.
        if (form !== CSV || Object.keys(again).length > 1)
          send(scene, { method: 'POST', on, body: [again, { ...second, [name]: null }], ...lines });
      }
    },
  ),
  single(offers('create'), () => [
    { method: 'POST', body: [], lines: NDJSON },
    { method: 'POST', text: '"a', lines: CSV },
  ]),
);

/** What new records must be given besides these keys. */
const neededBeside = ({ fields, relations }: RecordType, keys: readonly string[]): readonly string[] =>
  [...fields.values(), ...relations.values()].flatMap(({ name, required }) =>
    required && !keys.includes(name) ? [name] : [],
  );

const withoutNeeded = (type: RecordType, keys: readonly string[], body: JsonObject): JsonObject => {
  const left = neededBeside(type, keys);
  return Object.fromEntries(Object.entries(body).filter(([key]) => !left.includes(key)));
};
