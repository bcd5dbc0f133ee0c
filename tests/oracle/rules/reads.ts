/** Reads: pages and orders of lists in each form that clients write them, cursors, views, media types. */
import {
  type Field,
  MAX_DEEP_RECORDS,
  MAX_INCLUDE_DEPTH,
  type RecordType,
  type Relation,
} from '../../../engine/model/model.ts';
import { type Call, cnd, endpoints, linkTo, parameter, type Query, showsRecords } from '../call.ts';
import { listed, type ListRequest, type OrderRequest, type ViewRequest } from '../reads.ts';
import { fullest, nestedBody, obtain, smallest } from '../samples.ts';
import { among, type Context, get, list, post, put, remove, type Scene, send, shownAs } from '../scene.ts';
import { isSettable } from '../values.ts';
import type { Id } from '../world.ts';
import { always, each, identified, offers, representative, type Rule, rule, single, table } from './rule.ts';

export const canMake = identified('create', 'list');

export const several = (scene: Scene, count: number): readonly Id[] =>
  Array.from({ length: count }, () => post(scene, fullest(scene)));

export const comparable = ({ defaultVariant }: RecordType): readonly Field[] =>
  defaultVariant.fields.filter(({ type }) => type.operators.length > 0);

/** Queries about one word, written short: `[]=A []=desc, =B` are two. A and B stand for names. */
const queries = (word: string, text: string, names: Readonly<Record<string, string>> = {}): readonly Query[] =>
  text.split(', ').map((query) =>
    query.split(' ').map((part) => {
      const [steps = '', value = ''] = part.split('=');
      return `_cnd[${word}]${steps}=${value.replaceAll(/\b[AB]\b/g, (name) => encodeURIComponent(names[name] ?? name))}`;
    }),
  );

/** Some clients encode brackets as well. */
const encoded = (query: Query): Query => query.map((part) => part.replaceAll('[', '%5B').replaceAll(']', '%5D'));

const SECOND_AND_THIRD = queries('limit', '=1 =2, =1,2, []=1 []=2, [0]=1 [1]=2');

/** Pages, each in the forms that mean it. */
const PAGES: readonly (readonly [ListRequest, readonly Query[]])[] = [
  [
    { offset: 1, limit: 2 },
    [...SECOND_AND_THIRD, ...queries('limit', '[1]=2 [0]=1'), ...SECOND_AND_THIRD.map(encoded)],
  ],
  [{ limit: 2 }, queries('limit', '[1]=2')],
  [{ offset: 3 }, queries('limit', '[0]=3')],
  [{ offset: 0, limit: 0 }, queries('limit', '=0 =0')],
  [{ offset: 9, limit: 2 }, queries('limit', '=9 =2')],
  [{ offset: 4, limit: 5 }, queries('limit', '=4 =5')],
];

const BAD_PAGES = queries(
  'limit',
  '=2, []=2, =0 []=2, =0 [1]=2, [1]=2 [1]=2, =0 =1 =2, [2]=1, =0 =x, =0 =, =0,, =0,1,2, [1]=0,1, =0 =1.5, =-1 =1, =0 =-1, [x]=1, [0][0]=1',
);

const FIRST_THREE = [
  ...queries('limit', '=0 =3, []=0 []=3, [1]=3 [0]=0, [1]=3'),
  ...queries('limit', '[1]=3').map(encoded),
];

/** Forms of one order: A down, B up. */
const ORDERS = [
  '=A =desc =B, =A,desc,B, =A,DESC =B, =A =DESC =B =asc, []=A []=desc []=B []=Asc, [0]=A [1]=desc [2]=B, [2]=B [1]=desc [0]=A',
  '[0][0]=A [0][1]=desc [1][0]=B [1][1]=asc',
].join(', ');
const orderForms = (first: string, second: string): readonly Query[] => [
  ...queries('orderBy', ORDERS, { A: first, B: second }),
  ...queries('orderBy', '[0]=A [1]=desc [2]=B', { A: first, B: second }).map(encoded),
];

const BAD_ORDERS =
  '=noSuchField, =-A, =A:desc, =desc, =A,, =A =desc =desc, =A =downwards, =, [0]=A [0]=A, =A [0]=desc, [x]=A, =A.A';
const DOWN = '=A =desc, =A,Desc, []=A []=DESC, [1]=desc [0]=A, [0][0]=A [0][1]=desc';

/** Up to two fields that can be compared, the identifier where there are none. */
function sortable(type: RecordType): readonly [string, string] {
  const [first = type.identifier.name, second = type.identifier.name] = comparable(type).map(({ name }) => name);
  return [first, second];
}

/** Whatever the database holds, each form gets what the first one got. */
function alike(scene: Scene, forms: readonly Query[]): void {
  for (const form of forms) send(scene, { method: 'GET', list: { limit: 3 }, form, bound: 'answer', links: {} });
}

export const page = (wrong: Query, limit = false): Omit<Call, 'type'> => ({
  method: 'GET',
  ...(limit ? { list: { offset: 0, limit: 2 }, form: ['_cnd[limit]=0', '_cnd[limit]=2'] } : {}),
  wrong,
});

const forms = (scene: Scene, all: readonly Id[], request: ListRequest, some: readonly Query[]): void => {
  for (const form of some) list(scene, all, request, { form });
};

const pageRules: readonly Rule[] = [
  ...table(
    'reads',
    rule('the first three, in each form', offers('list'), (scene) => alike(scene, FIRST_THREE)),
    each(
      'by {} desc, in each form',
      offers('list'),
      ({ type }) => [type.identifier.name, ...representative(comparable(type)).map(({ name }) => name)],
      (scene, name) =>
        alike(
          scene,
          queries('orderBy', DOWN, { A: name }).map((form) => [...(FIRST_THREE[0] ?? []), ...form]),
        ),
    ),
    // The page of no record changes with how many there are.
    rule('the page of no record once more, If-None-Match', offers('list'), (scene) => {
      const form = ['_cnd[limit]=0', '_cnd[limit]=0'];
      const empty = { method: 'GET', list: { offset: 0, limit: 0 }, form };
      send(scene, { ...empty, tag: 'tag', links: { first: 'first' } });
      if (scene.type.preconditions !== 'off') send(scene, { ...empty, headers: { 'if-none-match': '"{tag}"' } });
      send(scene, { ...empty, path: '{+first}', links: { first: 'first' } });
    }),
  ),
  ...table(
    'lists',
    rule('pages, in each form of _cnd[limit]', canMake, (scene) => {
      const all = several(scene, 5);
      list(scene, all);
      for (const [request, some] of PAGES) forms(scene, all, request, some);
    }),
    rule('in order, in each form of _cnd[orderBy]', canMake, (scene) => {
      const [first, second] = sortable(scene.type);
      const down = { path: first, descending: true };
      const all = several(scene, 5);
      if (first === second) list(scene, all, { order: [down] });
      else forms(scene, all, { order: [down, { path: second, descending: false }] }, orderForms(first, second));
      list(scene, all, { order: [{ path: scene.type.identifier.name, descending: true }] });
      list(scene, all, { order: [{ path: first, descending: false }] });
    }),
    single(offers('list'), (type) =>
      [
        ...BAD_PAGES,
        ['_cnd[limit]=0', `_cnd[limit]=${type.maxLimit + 1}`],
        ...queries('orderBy', BAD_ORDERS, { A: sortable(type)[0] }),
      ].map((wrong) => page(wrong)),
    ),
  ),
];

const SIZE = 2;

/** A list that is read page by page. */
interface Walk {
  readonly scene: Scene;
  readonly all: readonly Id[];
  readonly order: readonly OrderRequest[] | undefined;
}

const startWalk = (scene: Scene, order?: readonly OrderRequest[]): Walk => ({ scene, order, all: several(scene, 5) });

/** Asks for the page that begins at a place of the walk; `path` is where an earlier answer said it is. */
function turn({ scene, all, order }: Walk, path: string | undefined, offset: number, links: Call['links']): void {
  const request = among(scene, all, { ...(order ? { order } : {}), offset, limit: SIZE });
  send(scene, { method: 'GET', list: request, ...(path === undefined ? {} : { path }), ...(links ? { links } : {}) });
}

function thereAndBack(walk: Walk): void {
  turn(walk, undefined, 0, { first: 'first', prev: null, next: 'second' });
  turn(walk, '{+second}', SIZE, { first: 'first', prev: 'back', next: 'third' });
  turn(walk, '{+third}', 2 * SIZE, { first: 'first', prev: 'middle', next: null });
  turn(walk, '{+middle}', SIZE, { next: 'third again' });
  turn(walk, '{+back}', 0, { prev: null });
  turn(walk, '{+first}', 0, { prev: null, next: 'second' });
}

/** A field that may be null. */
const nullable = ({ type }: Context): readonly Field[] =>
  comparable(type)
    .filter((field) => field.nullable && isSettable(field))
    .slice(0, 1);

const cursorRules = table(
  'paging',
  rule('page by page in the default order', canMake, (scene) => thereAndBack(startWalk(scene))),
  each('page by page by {} desc', canMake, nullable, (scene, { name }) =>
    thereAndBack(startWalk(scene, [{ path: name, descending: true }])),
  ),
  // What was read already goes: the next page is the one that was promised.
  rule('page by page while records go', identified('create', 'list', 'delete'), (scene) => {
    const walk = startWalk(scene);
    turn(walk, undefined, 0, { next: 'second' });
    const [first] = listed(scene.world, scene.type, among(scene, walk.all)).rows;
    if (first) remove(scene, first.id);
    turn(walk, '{+second}', SIZE - 1, { next: 'third' });
    turn(walk, '{+third}', 2 * SIZE - 1, { next: null });
  }),
  rule('the cursor of another list', canMake, (scene) => {
    turn(startWalk(scene), undefined, 0, { next: 'second' });
    send(scene, { method: 'GET', path: '{+second}', wrong: [`${cnd(scene.type.identifier.name, 'ne')}=1`] });
  }),
  single(offers('list'), () => [
    page(['after=x']),
    ...[['after=x'], ['before='], ['after=x', 'before=y']].map((wrong) => page(wrong, true)),
    page(['_cnd[limit]=1', '_cnd[limit]=2', 'after=x']),
  ]),
);

export const listRules: readonly Rule[] = [...pageRules, ...cursorRules];

// Views: relations one level deep, `include`, `fields`; media types of lists; views that are too wide.

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
