/** Summaries: groups and what is said of them, pages of groups, and what is refused. */
import type { Field, RecordType, Relation } from '../../../engine/model/model.ts';
import { type Call, cnd, parameter, type Query } from '../call.ts';
import type { ListRequest, SummaryRequest } from '../reads.ts';
import { childBody, fullest, smallest } from '../samples.ts';
import { among, type Context, post, remove, type Scene, send } from '../scene.ts';
import { inOtherCase } from '../values.ts';
import type { Id } from '../world.ts';
import { canMake, comparable, several } from './reads.ts';
import { each, isWritable, offers, relations, representative, rule, single, table, takesTexts } from './rule.ts';

const COUNT = ['count'];

/** A summary of these records, whatever else there is. */
function summarized(
  scene: Scene,
  ids: readonly Id[],
  summary: Partial<SummaryRequest>,
  request: ListRequest = {},
  more: Partial<Call> = {},
): void {
  const asked = { by: [], measure: COUNT, ...summary };
  send(scene, { ...more, method: 'GET', list: among(scene, ids, request), summary: asked });
}

/** What can be said of a field. */
function measuresOf({ name, type }: Field): readonly string[] {
  const hasSum = type.columns.sqlite.aggregates?.sum !== undefined;
  const words = ['count', ...(type.operators.includes('lt') ? ['min', 'max'] : []), ...(hasSum ? ['sum'] : [])];
  return words.map((word) => `${word}(${name})`);
}

/** What the service fills in is only known to be there. */
const groupable = ({ type }: Pick<Context, 'type'>): readonly Field[] =>
  representative(comparable(type).filter(({ generated, isNowByDefault }) => !generated && !isNowByDefault));

const periodsOf = ({ name, type }: Field): readonly string[] =>
  type.columns.sqlite.periods ? ['day', 'month'].map((word) => `${word}(${name})`) : [];

const MAX_EDGES = 8;

/** Fields whose equal values can be written differently. */
const respellable = ({ type }: Pick<Context, 'type'>): readonly Field[] =>
  groupable({ type }).filter(
    (field) => field.type.columns.sqlite.spelling !== undefined && isWritable(type, field) && !field.unique,
  );

const caseless = ({ type }: Context): readonly Field[] =>
  groupable({ type })
    .filter((field) => field.caseless && isWritable(type, field) && takesTexts(field, 12))
    .slice(0, 1);

const toOne = relations(({ toMany }) => !toMany);

/** Two records with the same values, one with others, and one without a value where that may be. */
function made(scene: Scene, field: Field): readonly Id[] {
  const [first, second, third] = [fullest(scene), fullest(scene), fullest(scene)];
  const value = first[field.name] ?? null;
  const isGiven = isWritable(scene.type, field) && field.name in first;
  const isShared = isGiven && !field.unique;
  const twin = isShared ? { [field.name]: inOtherCase(field, value) } : {};
  // Without regard to case it has another place than its characters have.
  const other = isGiven ? { [field.name]: inOtherCase(field, third[field.name] ?? null) } : {};
  const others = isShared && field.nullable ? [{ ...fullest(scene), [field.name]: null }] : [];
  return [first, { ...second, ...twin }, { ...third, ...other }, ...others].map((body) => post(scene, body));
}

const refused = ({ identifier: { name } }: RecordType): readonly Query[] =>
  [
    ['by', 'noSuchField'],
    ['by', `${name},${name}`],
    ['by', `day(${name})`],
    ['by', `year(${name})`],
    ['by', ','],
    ['measure', ''],
    ['measure', 'avg'],
    ['measure', `avg(${name})`],
    ['measure', 'sum'],
    ['measure', 'sum(noSuchField)'],
    ['measure', 'count,count'],
    ['include', ''],
    ['fields', name],
    ['after', 'x'],
  ].map(([key = '', value = '']) => [parameter(key, value)]);

const MISPLACED: readonly Query[] = [
  [parameter(cnd('orderBy'), 'noSuchField')],
  [parameter(cnd('orderBy'), 'count'), parameter(cnd('orderBy'), 'count')],
  [parameter(cnd('limit'), '0'), parameter(cnd('limit'), '10001')],
  [parameter(cnd('noSuchField'), '1')],
];

export const summaryRules = table(
  'summaries',
  // All records are one group, which is not on the page.
  rule('$summary without groups, once more, If-None-Match', offers('list'), (scene) => {
    const empty = { method: 'GET', list: { limit: 0 }, summary: { by: [], measure: COUNT } };
    send(scene, { ...empty, tag: 'tag' });
    if (scene.type.preconditions !== 'off') send(scene, { ...empty, headers: { 'if-none-match': '"{tag}"' } });
    for (const mode of ['exact', 'estimated', 'none']) send(scene, { ...empty, headers: { prefer: `count=${mode}` } });
  }),
  each('$summary by {}', canMake, groupable, (scene, field) => {
    const ids = made(scene, field);
    const measure = ['count', ...measuresOf(field)];
    summarized(scene, ids, { measure });
    summarized(scene, ids, { by: [field.name], measure });
    for (const path of [field.name, ...measure])
      for (const descending of [false, true])
        summarized(scene, ids, { by: [field.name], measure }, { order: [{ path, descending }] });
    for (const name of periodsOf(field)) summarized(scene, ids, { by: [name] });
  }),
  each('$summary by {}, of values that can be written in several ways', canMake, respellable, (scene, field) => {
    const values = field.type.edges(field).slice(0, MAX_EDGES);
    // Of equal ones, databases take the first or the last.
    const ids = [...values, ...values.toReversed()].map((value) =>
      post(scene, { ...fullest(scene), [field.name]: value }),
    );
    const measure = measuresOf(field);
    for (const by of [[], [field.name], ...periodsOf(field).map((name) => [name])])
      summarized(scene, ids, { by, measure });
    for (const path of measure)
      summarized(scene, ids, { by: [field.name], measure }, { order: [{ path, descending: true }] });
  }),
  each('$summary by {}, of texts that begin alike', canMake, caseless, (scene, { name }) => {
    const text = `x${(scene.seeds.next += 1)}`;
    const ids = [`${text} z`, text.toUpperCase(), `${text}!Z`, `${text}!a`].map((value) =>
      post(scene, { ...smallest(scene), [name]: value }),
    );
    for (const by of [[], [name]]) summarized(scene, ids, { by, measure: [`min(${name})`, `max(${name})`] });
  }),
  each('$summary by {}, the related record', canMake, toOne, (scene, relation: Relation) => {
    const { name, target, required } = relation;
    const ids = [{ ...fullest(scene), [name]: childBody(scene, relation) }].map((one) => post(scene, one));
    if (!required) ids.push(post(scene, { ...fullest(scene), [name]: null }));
    const fields = groupable({ type: target })
      .filter((field) => relation.fields.includes(field))
      .slice(0, 1);
    for (const path of [name, `${name}.${target.identifier.name}`, ...fields.map((field) => `${name}.${field.name}`)])
      for (const descending of [false, true])
        summarized(scene, ids, { by: [path], measure: ['count', `count(${name})`] }, { order: [{ path, descending }] });
  }),
  rule('pages of $summary', canMake, (scene) => {
    const path = scene.type.identifier.name;
    const ids = several(scene, 3);
    const order = [{ path, descending: true }];
    const asked = { by: [path], measure: [`max(${path})`] };
    const next = { links: { first: 'first', prev: null, next: 'second' } };
    summarized(scene, ids, asked, { order, offset: 0, limit: 2 }, next);
    summarized(
      scene,
      ids,
      asked,
      { order, offset: 2, limit: 2 },
      { links: { first: 'first', prev: 'back', next: null } },
    );
    summarized(scene, ids, asked, { order, offset: 5 });
    summarized(scene, ids, asked, { limit: 0 });
  }),
  rule(
    '$summary, If-None-Match',
    (type) => canMake(type) && type.preconditions !== 'off',
    (scene) => {
      const ids = several(scene, 2);
      const known = { headers: { 'if-none-match': '"{tag}"' } };
      summarized(scene, ids, {}, {}, { tag: 'tag' });
      summarized(scene, ids, {}, {}, known);
      for (const id of ids.slice(1)) remove(scene, id);
      summarized(scene, ids, {}, {}, known);
    },
  ),
  rule('$summary in each format, counted or not', canMake, (scene) => {
    const ids = several(scene, 1);
    const measure = ['count', `count(${scene.type.identifier.name})`];
    for (const accept of ['text/csv', 'application/x-ndjson', 'application/json'])
      summarized(scene, ids, { measure }, {}, { headers: { accept } });
    for (const mode of ['exact', 'estimated', 'none'])
      summarized(scene, ids, { measure }, {}, { headers: { prefer: `count=${mode}` } });
  }),
  single(offers('list'), (type) =>
    [...refused(type), ...MISPLACED].map((wrong) => ({ method: 'GET', summary: { by: [], measure: COUNT }, wrong })),
  ),
);
