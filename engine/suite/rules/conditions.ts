/** Groups of filters, and filters by the records of sets. */
import type { Field, RecordType, Relation } from '../../model/model.ts';
import { cnd, parameter, type Query } from '../call.ts';
import type { ConditionRequest, FilterRequest, GroupRequest } from '../reads.ts';
import { childBody, fullest } from '../samples.ts';
import { type Context, list, post, type Scene } from '../scene.ts';
import { isSettable } from '../stamps.ts';
import { type Id, related, rowOf } from '../world.ts';
import { canMake, comparable, page, several } from './lists.ts';
import { each, isWritable, offers, relations, rule, single, table } from './rule.ts';

const GROUPS: readonly GroupRequest['group'][] = ['$any', '$all', '$none'];
const QUANTIFIERS = ['$some', '$none', '$every'] as const;

/** Groups of these conditions, one in another up to the third. */
function groupsOf([first, second]: readonly [ConditionRequest, ConditionRequest]): readonly ConditionRequest[] {
  const group = (name: GroupRequest['group'], ...items: GroupRequest['items']): GroupRequest => ({
    group: name,
    items,
  });
  return [
    ...GROUPS.map((name) => group(name, [first], [second])),
    ...GROUPS.map((name) => group(name, [first, second])),
    ...GROUPS.map((name) => group('$none', [group('$any', [group(name, [first], [second])])])),
  ];
}

/** What refuses to be read, of any type. */
function refused({ identifier: { name } }: RecordType): readonly Query[] {
  const inner = (...steps: readonly string[]): Query => [parameter(cnd(...steps), '1')];
  return [
    inner('$any'),
    inner('$any', '0'),
    inner('$some', '0', name),
    inner('$any', '0', 'limit'),
    inner('$any', '0', name, 'between'),
    inner('$any', '$any', '$any', '$any', name),
    [...inner('$any', '0', name), ...inner('$any', '', name)],
    [...inner('$any', '0', name), ...inner('$any', '0', name)],
  ];
}

const refusedSets = ({ name }: Relation): readonly Query[] => [
  [parameter(cnd(name), '1')],
  [parameter(cnd(name, '$sum'), '1')],
  [parameter(cnd(name, '$some'), '1')],
  [parameter(cnd(name, '$some', '0', 'noSuchField'), '1')],
  [parameter(cnd(name, '$count'), 'x')],
  [parameter(cnd(name, '$count', 'like'), '1')],
];

const sets = relations(({ toMany, required }) => toMany && !required);

/** Fields that can be null, and have a value that is short enough for an address. */
const clearable = ({ type }: Pick<Context, 'type'>): readonly Field[] =>
  comparable(type)
    .filter(
      (field) => field.nullable && isWritable(type, field) && isSettable(field) && field.type.operators.includes('gt'),
    )
    .filter((field) => String(field.type.good(field, 1)).length < 200)
    .slice(0, 2);

/** The value that a record of the set has in its first field that can be compared and is not null. */
function memberFilter({ world }: Scene, relation: Relation, source: Id): FilterRequest | undefined {
  const row = rowOf(world, relation.source, source);
  const member = row && related(world, relation, row)[0];
  const fields = comparable(relation.target)
    .filter(isSettable)
    .filter((field) => String(member?.values.get(field) ?? '').length < 200);
  const found = fields.map((field) => ({ path: field.name, value: member?.values.get(field) ?? null }));
  const known = found.find(({ value }) => value !== null && value !== '');
  return known && { ...known, operator: 'eq' };
}

export const conditionRules = table(
  'conditions',
  rule('groups of conditions', canMake, (scene) => {
    const ids = several(scene, 3);
    const path = scene.type.identifier.name;
    const own = (operator: 'eq' | 'ne', place: number): FilterRequest => ({
      path,
      operator,
      ids: ids.slice(place, place + 1),
    });
    for (const group of groupsOf([own('eq', 0), own('ne', 1)])) list(scene, ids, { filters: [group] });
  }),
  each('_cnd[{}] in groups, where it is null as well', canMake, clearable, (scene, field) => {
    const body = fullest(scene);
    const ids = [body, { ...fullest(scene), [field.name]: null }].map((one) => post(scene, one));
    const filter = (operator: 'eq' | 'gt'): FilterRequest => ({
      path: field.name,
      operator,
      value: body[field.name] ?? null,
    });
    for (const group of groupsOf([filter('eq'), filter('gt')])) list(scene, ids, { filters: [group] });
  }),
  each('_cnd[{}] some, none, every and the number of its records', canMake, sets, (scene, relation) => {
    const { name } = relation;
    const bodies = [2, 1, 0].map((count) => Array.from({ length: count }, () => childBody(scene, relation)));
    const ids = bodies.map((members) => post(scene, { ...fullest(scene), [name]: members }));
    for (const counted of ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const)
      list(scene, ids, { filters: [{ path: name, counted, value: 1 }] });
    list(scene, ids, { filters: [{ path: name, counted: 'in', value: [0, 2] }] });
    const filter = ids[0] === undefined ? undefined : memberFilter(scene, relation, ids[0]);
    if (!filter) return;
    const far = `${name}.${filter.path}`;
    const conditions: readonly ConditionRequest[][] = [
      [filter],
      [{ ...filter, operator: 'ne' }],
      [filter, { path: filter.path, operator: 'null', value: false }],
      [{ group: '$none', items: [[filter]] }],
    ];
    for (const quantifier of QUANTIFIERS)
      for (const inner of conditions) list(scene, ids, { filters: [{ path: name, quantifier, conditions: inner }] });
    list(scene, ids, { filters: [{ ...filter, path: far }] });
    list(scene, ids, { filters: [{ group: '$none', items: [[{ ...filter, path: far, operator: 'ne' }]] }] });
  }),
  single(offers('list'), (type) => refused(type).map((query) => page(query))),
  single(offers('list'), (type) =>
    sets({ type })
      .flatMap(refusedSets)
      .map((query) => page(query)),
  ),
);
