/** Lists: pages, orders and filters in each form that clients write them, cursors, and what of all that is refused. */
import type { Field, RecordType } from '../../model/model.ts';
import { type Call, cnd, parameter, type Query } from '../call.ts';
import { listed, type ListRequest, type OrderRequest } from '../reads.ts';
import { fullest } from '../samples.ts';
import { among, type Context, list, post, remove, type Scene, send } from '../scene.ts';
import type { Id } from '../world.ts';
import { each, identified, offers, representative, type Rule, rule, single, table } from './rule.ts';

export const canMake = identified('create', 'list');

export const several = (scene: Scene, count: number): readonly Id[] =>
  Array.from({ length: count }, () => post(scene, fullest(scene)));

export const comparable = ({ defaultVariant }: RecordType): readonly Field[] =>
  defaultVariant.fields.filter(({ type }) => type.operators.length > 0);

/** Pages, each in the forms that mean it. */
const PAGES: readonly (readonly [ListRequest, ...Query[]])[] = [
  [
    { offset: 1, limit: 2 },
    ['_cnd[limit]=1', '_cnd[limit]=2'],
    ['_cnd[limit][]=1', '_cnd[limit][]=2'],
    ['_cnd[limit][0]=1', '_cnd[limit][1]=2'],
    ['_cnd[limit][1]=2', '_cnd[limit][0]=1'],
    ['_cnd%5Blimit%5D=1', '_cnd%5Blimit%5D=2'],
    ['_cnd%5Blimit%5D%5B%5D=1', '_cnd%5Blimit%5D%5B%5D=2'],
    ['_cnd%5Blimit%5D%5B0%5D=1', '_cnd%5Blimit%5D%5B1%5D=2'],
  ],
  [{ limit: 2 }, ['_cnd[limit][1]=2']],
  [{ offset: 3 }, ['_cnd[limit][0]=3']],
  [{ offset: 0, limit: 0 }, ['_cnd[limit]=0', '_cnd[limit]=0']],
  [{ offset: 9, limit: 2 }, ['_cnd[limit]=9', '_cnd[limit]=2']],
  [{ offset: 4, limit: 5 }, ['_cnd[limit]=4', '_cnd[limit]=5']],
];

const BAD_PAGES: readonly Query[] = [
  ['_cnd[limit]=2'],
  ['_cnd[limit][]=2'],
  ['_cnd[limit]=0', '_cnd[limit][]=2'],
  ['_cnd[limit]=0', '_cnd[limit][1]=2'],
  ['_cnd[limit][1]=2', '_cnd[limit][1]=2'],
  ['_cnd[limit]=0', '_cnd[limit]=1', '_cnd[limit]=2'],
  ['_cnd[limit][2]=1'],
  ['_cnd[limit]=0', '_cnd[limit]=x'],
  ['_cnd[limit]=0', '_cnd[limit]='],
  ['_cnd[limit]=0', '_cnd[limit]=1.5'],
  ['_cnd[limit]=-1', '_cnd[limit]=1'],
  ['_cnd[limit]=0', '_cnd[limit]=-1'],
  ['_cnd[limit][x]=1'],
  ['_cnd[limit][0][0]=1'],
];

const FIRST_THREE: readonly Query[] = [
  ['_cnd[limit]=0', '_cnd[limit]=3'],
  ['_cnd[limit][]=0', '_cnd[limit][]=3'],
  ['_cnd[limit][1]=3', '_cnd[limit][0]=0'],
  ['_cnd[limit][1]=3'],
  ['_cnd%5Blimit%5D%5B1%5D=3'],
];

const by = (...steps: readonly string[]): string => cnd('orderBy', ...steps);
const ordered = (...pairs: readonly (readonly [string, string])[]): Query =>
  pairs.map(([key, value]) => parameter(key, value));

/** Forms of one order: the first down, the second up. */
const orderForms = (first: string, second: string): readonly Query[] => [
  ordered([by(), first], [by(), 'desc'], [by(), second]),
  ordered([by(), first], [by(), 'DESC'], [by(), second], [by(), 'asc']),
  ordered([by(''), first], [by(''), 'desc'], [by(''), second], [by(''), 'Asc']),
  ordered([by('0'), first], [by('1'), 'desc'], [by('2'), second]),
  ordered([by('2'), second], [by('1'), 'desc'], [by('0'), first]),
  ordered([by('0', '0'), first], [by('0', '1'), 'desc'], [by('1', '0'), second], [by('1', '1'), 'asc']),
  ordered(
    ['_cnd%5BorderBy%5D%5B0%5D', first],
    ['_cnd%5BorderBy%5D%5B1%5D', 'desc'],
    ['_cnd%5BorderBy%5D%5B2%5D', second],
  ),
];

const badOrders = (first: string): readonly Query[] => [
  ordered([by(), 'noSuchField']),
  ordered([by(), 'desc']),
  ordered([by(), first], [by(), 'desc'], [by(), 'desc']),
  ordered([by(), first], [by(), 'downwards']),
  ordered([by(), '']),
  ordered([by('0'), first], [by('0'), first]),
  ordered([by(), first], [by('0'), 'desc']),
  ordered([by('x'), first]),
  ordered([by(), `${first}.${first}`]),
];

const downForms = (name: string): readonly Query[] => [
  ordered([by(), name], [by(), 'desc']),
  ordered([by(''), name], [by(''), 'DESC']),
  ordered([by('1'), 'desc'], [by('0'), name]),
  ordered([by('0', '0'), name], [by('0', '1'), 'desc']),
];

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
          downForms(name).map((form) => [...(FIRST_THREE[0] ?? []), ...form]),
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
      for (const [request, ...some] of PAGES) forms(scene, all, request, some);
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
      [...BAD_PAGES, ['_cnd[limit]=0', `_cnd[limit]=${type.maxLimit + 1}`], ...badOrders(sortable(type)[0])].map(
        (wrong) => page(wrong),
      ),
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
    .filter((field) => field.nullable && !field.readOnly)
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
