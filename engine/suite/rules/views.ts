/** What answers show: relations one level deep, `include`, `fields`; the media types of lists; views that are too wide. */
import { MAX_DEEP_RECORDS, MAX_INCLUDE_DEPTH, type RecordType, type Relation } from '../../model/model.ts';
import { endpoints, showsRecords, linkTo, parameter } from '../call.ts';
import type { ViewRequest } from '../reads.ts';
import { fullest, nestedBody, obtain, smallest } from '../samples.ts';
import { type Context, get, list, post, put, remove, send, shownAs } from '../scene.ts';
import { always, each, identified, offers, type Rule, rule, single, table } from './rule.ts';

/** Every relation path up to some depth, in the order of the descriptors. */
function relationPaths(type: RecordType, depth: number): readonly string[] {
  if (depth === 0) return [];
  return [...type.relations.values()].flatMap(({ name, target }) => [
    name,
    ...relationPaths(target, depth - 1).map((path) => `${name}.${path}`),
  ]);
}

const MAX_PATHS = 12;

const pathsOfDepth = (type: RecordType, depth: number): readonly string[] =>
  relationPaths(type, depth).filter((path) => path.split('.').length === depth);

/** Views worth asking for: nothing, each relation alone, two levels, the deepest path, some fields here and there. */
function viewsOf({ type }: Context): readonly ViewRequest[] {
  const relations = [...type.relations.values()];
  const names = relations.map(({ name }) => name);
  const paths = relationPaths(type, 2).slice(0, MAX_PATHS);
  const own = type.defaultVariant.fields.map(({ name }) => name);
  const [first, ...others] = own;
  const nested = relations.flatMap(({ name, fields }) => fields.slice(0, 1).map((field) => `${name}.${field.name}`));
  return [
    { include: [] },
    ...(names.length > 0 ? [{ include: names }, { include: paths }] : []),
    ...[...paths, ...pathsOfDepth(type, MAX_INCLUDE_DEPTH).slice(0, 3)].map((path) => ({ include: [path] })),
    ...(first === undefined ? [] : [{ fields: [first] }]),
    ...(others.length > 0 ? [{ fields: others }] : []),
    ...nested.map((path) => ({ fields: [...own.slice(0, 1), path] })),
    ...names.slice(0, 1).map((name) => ({ include: [name], fields: [...own.slice(0, 1), name] })),
  ];
}

const queryOf = (view: ViewRequest): string =>
  Object.entries(view)
    .map(([key, names]) => `${key}=${String(names)}`)
    .join('&');

const named = (view: ViewRequest) => ({ name: queryOf(view), view });

const badViews = (type: RecordType): readonly (readonly [key: string, value: string])[] => {
  const field = type.defaultVariant.fields[0]?.name ?? type.identifier.name;
  const tooDeep = pathsOfDepth(type, MAX_INCLUDE_DEPTH + 1).slice(0, 1);
  return [
    ['include', 'noSuchRelation'],
    ['include', field],
    ['include', ','],
    ['fields', 'noSuchField'],
    ['fields', `${field}.x`],
    ['variant', 'noSuchVariant'],
    ...tooDeep.map((path) => ['include', path] as const),
  ];
};

export const viewRules: readonly Rule[] = [
  ...table(
    'views',
    each(
      '?{}, each operation',
      offers('create'),
      (context) => viewsOf(context).map(named),
      (scene, { view }) => {
        const id = post(scene, nestedBody(scene), { view });
        get(scene, id, { view });
        list(scene, [id], {}, { view });
        put(scene, id, {}, { view });
        remove(scene, id, { view });
      },
    ),
    // Written back to the same address, query included, an answer changes nothing.
    each(
      'PUT ?{} what GET answered',
      offers('update'),
      (context) => [{}, ...viewsOf(context)].map(named),
      (scene, { view }) => {
        const id = scene.type.operations.has('create') ? post(scene, nestedBody(scene), { view }) : obtain(scene);
        get(scene, id, { view });
        put(scene, id, shownAs(scene, id, view), { view });
        get(scene, id);
      },
    ),
    single(always, (type) =>
      endpoints(type)
        .filter(({ method, summary }) => method === 'GET' && summary === undefined)
        .flatMap((call) => badViews(type).map(([key, value]) => ({ ...call, wrong: [parameter(key, value)] }))),
    ),
  ),
  ...table(
    'formats',
    // One record is one line, which is JSON by itself.
    rule('GET as application/x-ndjson', identified('create', 'list'), (scene) =>
      list(scene, [post(scene, fullest(scene))], {}, { headers: { accept: 'application/x-ndjson' } }),
    ),
    // A table begins with its names; whole records have no place in a cell.
    rule('GET as text/csv', offers('list'), (scene) => {
      const call = { method: 'GET', headers: { accept: 'text/csv' } };
      const { identifier, defaultVariant, relations } = scene.type;
      if (identifier.inRecord || defaultVariant.fields.length > 0) send(scene, { ...call, list: { limit: 0 } });
      for (const name of [...relations.keys()].slice(0, 1)) send(scene, { ...call, view: { include: [name] } });
    }),
  ),
];

/** The square of this is more than one answer may hold. */
const COUNT = Math.floor(Math.sqrt(MAX_DEEP_RECORDS)) + 1;

/** A link to a record that shows all records that link it. */
const sharing = (type: RecordType): Relation | undefined =>
  [...type.relations.values()].find(
    ({ link, inverse, target }) => link.at === 'source' && inverse?.toMany && target.identifier.inRecord,
  );

/** A view that reaches more records than one answer may hold, made of few: each of them is related to all. */
export const breadth = rule(
  `${COUNT} records that are all related`,
  (type) => identified('create')(type) && sharing(type) !== undefined,
  (scene) => {
    const { type } = scene;
    const relation = sharing(type);
    if (relation?.inverse === undefined) return;
    const shared = obtain(scene, relation.target);
    const body = () => ({ ...smallest(scene), [relation.name]: linkTo(relation.target, shared) });
    const ids = Array.from({ length: COUNT }, () => post(scene, body()));
    const wide = `${relation.name}.${relation.inverse.name}`;
    for (const endpoint of endpoints(type).filter(showsRecords)) {
      const isList = endpoint.method === 'GET' && endpoint.id === undefined;
      // One record reaches as many of them by going there and back once more.
      const call = { ...endpoint, view: { include: [isList ? wide : `${wide}.${wide}`] } };
      if (isList) send(scene, { ...call, list: { filters: [{ path: relation.name, operator: 'eq', ids: [shared] }] } });
      else send(scene, endpoint.id === undefined ? { ...call, body: body() } : { ...call, id: ids[0] });
    }
    for (const id of ids.slice(0, 1)) get(scene, id);
  },
);
