/** The parameters of lists, in each form that clients send them: paging, order, and what is refused. */
import type { RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { cnd, parameter } from '../query-text.ts';
import type { OrderRequest } from '../reference/lists.ts';
import { collectionPath } from '../addresses.ts';
import { fullBody } from '../obtain.ts';
import { list, post } from '../requests.ts';
import { refused, type Scenario, step } from '../scenario.ts';

const GROUP = 'lists';
const ENCODED = '_cnd%5Blimit%5D';

/** Forms of offset 1 and limit 2. */
const PAGE_FORMS: readonly (readonly string[])[] = [
  ['_cnd[limit]=1', '_cnd[limit]=2'],
  ['_cnd[limit][]=1', '_cnd[limit][]=2'],
  ['_cnd[limit][0]=1', '_cnd[limit][1]=2'],
  ['_cnd[limit][1]=2', '_cnd[limit][0]=1'],
  [`${ENCODED}=1`, `${ENCODED}=2`],
  [`${ENCODED}%5B%5D=1`, `${ENCODED}%5B%5D=2`],
  [`${ENCODED}%5B0%5D=1`, `${ENCODED}%5B1%5D=2`],
];

/** Other pages: what is asked for, then how. */
const OTHER_PAGES = [
  [{ limit: 2 }, ['_cnd[limit][1]=2']],
  [{ offset: 3 }, ['_cnd[limit][0]=3']],
  [{ offset: 0, limit: 0 }, ['_cnd[limit]=0', '_cnd[limit]=0']],
  [{ offset: 9, limit: 2 }, ['_cnd[limit]=9', '_cnd[limit]=2']],
  [{ offset: 4, limit: 5 }, ['_cnd[limit]=4', '_cnd[limit]=5']],
] as const;

const BAD_PAGES: readonly (readonly string[])[] = [
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

function five(scenario: Scenario, type: RecordType) {
  return Array.from({ length: 5 }, () => post(scenario, type, fullBody(scenario, type)));
}

function pages(context: Context): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `GET ${collectionPath(type)} pages, in each form of _cnd[limit]`, (scenario) => {
    const all = five(scenario, type);
    const own = { path: type.identifier.name, operator: 'in', ids: all } as const;
    list(scenario, type, all, {});
    for (const form of PAGE_FORMS) paged(scenario, type, own, { offset: 1, limit: 2 }, form);
    for (const [page, form] of OTHER_PAGES) paged(scenario, type, own, page, form);
  });
}

type Own = { readonly path: string; readonly operator: 'in'; readonly ids: ReturnType<typeof five> };

/** The page is worked out from numbers, and asked for in the form given. */
function paged(
  scenario: Scenario,
  type: RecordType,
  own: Own,
  page: { offset?: number; limit?: number },
  form: readonly string[],
): void {
  const { body, total } = scenario.reference.list(type, { filters: [own], ...page });
  const ids = own.ids.map((id) => `${cnd(own.path, 'in')}={${id}}`);
  const path = collectionPath(type, [...ids, ...form]);
  const links = page.limit === undefined ? {} : { links: { first: '*' } };
  step(scenario, { method: 'GET', path }, { status: 200, headers: { 'x-total-count': String(total) }, ...links, body });
}

function refusedPages(context: Context): Case[] {
  const { type } = context;
  const tooLarge = ['_cnd[limit]=0', `_cnd[limit]=${type.maxLimit + 1}`];
  return [...BAD_PAGES, tooLarge].flatMap((form) =>
    caseOf(context, GROUP, `GET ${collectionPath(type, form)}`, (scenario) => {
      refused(scenario, { method: 'GET', path: collectionPath(type, form) }, 400, { code: 'invalid-query' });
    }),
  );
}

/** Up to two fields that can be compared, the identifier where there are none. */
function ordered(type: RecordType): readonly [string, string] {
  const names = type.defaultVariant.fields.filter((field) => field.type.operators.length > 0).map(({ name }) => name);
  return [names[0] ?? type.identifier.name, names.find((name) => name !== names[0]) ?? type.identifier.name];
}

const key = (...steps: readonly string[]) => cnd('orderBy', ...steps);

/** Forms of one order: the first field down, the second up. */
const orderForms = (first: string, second: string): readonly (readonly string[])[] => [
  [parameter(key(), first), parameter(key(), 'desc'), parameter(key(), second)],
  [parameter(key(), first), parameter(key(), 'DESC'), parameter(key(), second), parameter(key(), 'asc')],
  [parameter(key(''), first), parameter(key(''), 'desc'), parameter(key(''), second), parameter(key(''), 'Asc')],
  [parameter(key('0'), first), parameter(key('1'), 'desc'), parameter(key('2'), second)],
  [parameter(key('2'), second), parameter(key('1'), 'desc'), parameter(key('0'), first)],
  [
    parameter(key('0', '0'), first),
    parameter(key('0', '1'), 'desc'),
    parameter(key('1', '0'), second),
    parameter(key('1', '1'), 'asc'),
  ],
  [
    parameter('_cnd%5BorderBy%5D%5B0%5D', first),
    parameter('_cnd%5BorderBy%5D%5B1%5D', 'desc'),
    parameter('_cnd%5BorderBy%5D%5B2%5D', second),
  ],
];

function orders(context: Context): Case[] {
  const { type } = context;
  const [first, second] = ordered(type);
  const order: readonly OrderRequest[] =
    first === second
      ? [{ path: first, descending: true }]
      : [
          { path: first, descending: true },
          { path: second, descending: false },
        ];
  const forms = first === second ? [[parameter(key(), first), parameter(key(), 'desc')]] : orderForms(first, second);
  return caseOf(context, GROUP, `GET ${collectionPath(type)} in order, in each form of _cnd[orderBy]`, (scenario) => {
    const all = five(scenario, type);
    const own = { path: type.identifier.name, operator: 'in', ids: all } as const;
    const { body } = scenario.reference.list(type, { filters: [own], order });
    const ids = all.map((id) => `${cnd(own.path, 'in')}={${id}}`);
    for (const form of forms) {
      step(scenario, { method: 'GET', path: collectionPath(type, [...ids, ...form]) }, { status: 200, body });
    }
    list(scenario, type, all, { order: [{ path: type.identifier.name, descending: true }] });
    list(scenario, type, all, { order: [{ path: first, descending: false }] });
  });
}

function refusedOrders(context: Context): Case[] {
  const { type } = context;
  const [first] = ordered(type);
  const forms = [
    [parameter(key(), 'noSuchField')],
    [parameter(key(), 'desc')],
    [parameter(key(), first), parameter(key(), 'desc'), parameter(key(), 'desc')],
    [parameter(key(), first), parameter(key(), 'downwards')],
    [parameter(key(), '')],
    [parameter(key('0'), first), parameter(key('0'), first)],
    [parameter(key(), first), parameter(key('0'), 'desc')],
    [parameter(key('x'), first)],
    [parameter(key(), `${first}.${first}`)],
  ];
  return forms.flatMap((form) =>
    caseOf(context, GROUP, `GET ${collectionPath(type, form)}`, (scenario) => {
      refused(scenario, { method: 'GET', path: collectionPath(type, form) }, 400, { code: 'invalid-query' });
    }),
  );
}

const creatable = ({ type }: Context): boolean => type.operations.has('create') && type.identifier.inRecord;

export const lists = (context: Context): readonly Case[] =>
  context.type.operations.has('list')
    ? [
        ...(creatable(context) ? [...pages(context), ...orders(context)] : []),
        ...refusedPages(context),
        ...refusedOrders(context),
      ]
    : [];
