/** Requests that nobody should send: nasty values in every place where a value can stand. */
import type { Model } from '../../engine/model/model.ts';
import { creationExample } from '../../engine/openapi/examples.ts';
import fc from './fast-check.ts';

export interface HostileRequest {
  readonly method: string;
  /** Printable ASCII without spaces, as a request line must be. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

const words = (list: string): readonly string[] => list.split(/ +|\n +/);

const PATHS = words(
  'shipping-markups sales-tax-rates content-images global-tabs newsletter-subscribers tax-classes tmp-vars notifications',
);
const KEYS = [
  ...words(`id markup_id value name email position zone shipping_method zone_elements zone_id method_id taxClass tax rates
    membership coupons custom_tab providers product_specific_aliases global_tab tab code cloudicons min_weight date enabled
    templatesDirectory __proto__ constructor toString $ref _open rowid \u0000 é \ud800`),
  '',
  "'; drop table tax_classes; --",
];
const TEXTS = [
  ...words(`0 1 -1 1.5 1.50 1e400 -0 NaN null true 9007199254740993 99999999999999999999999999 " \\ % _ * \u0000 \ud800
    \u202e 👩‍👩‍👧 {} [] ../../etc/passwd <script> a@b.c 2024-02-30`),
  '',
  "' or 1=1 --",
  '\ufeff',
  '${7*7}',
  'x'.repeat(5_000),
];
const NUMBERS = words(`0 -0 1 -1 2 3 1.5 2147483648 4503599627370496 4503599627370497 9007199254740991 9007199254740992
  9223372036854775808 1e308 -1e308 5e-324`).map(Number);

/** One of the arbitraries, each as often as its weight says. */
const weighted = <T>(...all: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]): fc.Arbitrary<T> =>
  fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const scalar = fc.oneof(
  fc.constantFrom(...TEXTS, ...NUMBERS),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.boolean(),
  fc.constant(null),
  fc.integer({ min: 1, max: 30 }),
);

const { value: jsonValue } = fc.letrec<{ value: unknown; list: unknown[]; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ maxDepth: 6, depthSize: 'medium' }, scalar, tie('object'), tie('list')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc
    .array(fc.tuple(fc.constantFrom(...KEYS), tie('value')), { maxLength: 6 })
    .map((entries) => Object.fromEntries(entries)),
}));

const object = fc
  .array(fc.tuple(fc.constantFrom(...KEYS), jsonValue), { maxLength: 8 })
  .map((entries) => Object.fromEntries(entries));

const deep = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);

const text = weighted<string>(
  [8, object.map((value) => JSON.stringify(value))],
  [1, jsonValue.map((value) => JSON.stringify(value))],
  [
    1,
    fc.constantFrom(
      ...words('{ [ {"a":1,"a":2} {"id":1e999} {"id":1}{"id":2}'),
      '',
      deep(2_000, '[', ']'),
      deep(2_000, '{"zone":', '}'),
    ),
  ],
  [1, fc.tuple(object, fc.nat(40)).map(([value, cut]) => JSON.stringify(value).slice(0, -cut || undefined))],
);

/** Lines of JSON, and of cells. */
const lines: fc.Arbitrary<string> = fc.oneof(
  fc.array(text, { maxLength: 4 }).map((all) => all.join('\n')),
  fc
    .tuple(
      fc.array(fc.constantFrom(...KEYS), { maxLength: 4 }),
      fc.array(fc.array(scalar.map(cell), { maxLength: 4 }), { maxLength: 4 }),
      fc.constantFrom('\n', '\r\n', '\r'),
    )
    .map(([names, rows, end]) => [names.map(cell), ...rows].map((cells) => cells.join(',')).join(end)),
  fc.constantFrom('id\n"', '"', '\ufeffid\n1', ',,,\n,,,', 'id,id\n1,2', `name\n${'"'.repeat(999)}`, '\n'.repeat(3000)),
);

function cell(value: unknown): string {
  const shown = String(value);
  return /[",\r\n]/.test(shown) && shown.length % 3 > 0 ? `"${shown.replaceAll('"', '""')}"` : shown;
}

const body = weighted<Buffer>(
  [3, lines.map((value) => Buffer.from(value))],
  [12, text.map((value) => Buffer.from(value))],
  [1, fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes))],
  [1, fc.tuple(text, fc.nat()).map(([value, at]) => broken(Buffer.from(value), at))],
);

function broken(bytes: Buffer, at: number): Buffer {
  if (bytes.length > 0) bytes[at % bytes.length] = 0xff;
  return bytes;
}

const identifier = weighted<string>(
  [6, fc.integer({ min: 1, max: 20 }).map(String)],
  [
    1,
    fc.constantFrom(
      ...words('0 -1 1e1 %00 %ff .. %2e%2e 9007199254740991 9007199254740992 1/2 1%2f2'),
      'x'.repeat(3_000),
    ),
  ],
);

const encoded = (value: string): string => encodeURIComponent(value.toWellFormed());

const STEPS = words(`[$some][0][name] [$none][][code][ne] [$every][0][id][gt] [$count][gte] [$count] [$some] [eq] [ne]
  [lt] [gte] [in] [like] [null] [] [0] [x] [eq][0]`);
const parameterKey = fc.oneof(
  fc
    .tuple(fc.constantFrom(...KEYS), fc.constantFrom('', ...STEPS))
    .map(([key, rest]) => `_cnd[${encoded(key)}]${rest}`),
  fc.constantFrom(
    ...words(`_cnd[$any][0][id] _cnd[$none][][position][lt] _cnd[$any][0][$all][1][$none][0][name] _cnd[$any]
    _cnd[$x][0][id] _cnd[limit] _cnd[limit][0] _cnd[limit][1] _cnd[limit][] _cnd[orderBy] _cnd[orderBy][0]
    _cnd[orderBy][0][0] _cnd[orderBy][0][1] _cnd _cnd[ _cnd[] _cnd[][] %5fcnd%5blimit%5d`),
  ),
  fc.constantFrom('', ...words('include fields variant after before nope % __proto__ on dryRun by measure')),
);
const parameterValue = fc.oneof(
  fc.constantFrom(...TEXTS, ...KEYS).map(encoded),
  fc.constantFrom(
    ...words(`day(date) zone,position,email count,sum(position),max(name),min(date) email true zone.zone_elements zone,zone
    zone.shipping_markups.zone.shipping_markups shipping_method.taxClass % %ff %c3%28 zone. .zone desc a.b.c.d.e.f`),
  ),
);
const query = fc
  .array(
    fc.tuple(parameterKey, parameterValue).map(([key, value]) => `${key}=${value}`),
    { maxLength: 4 },
  )
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.join('&')}`));

const typePath = fc.constantFrom(...PATHS);
const path = weighted<string>(
  [6, fc.tuple(typePath, identifier, query).map(([name, id, rest]) => `/api/${name}/${id}${rest}`)],
  [4, fc.tuple(typePath, query).map(([name, rest]) => `/api/${name}${rest}`)],
  [1, fc.tuple(typePath, query).map(([name, rest]) => `/api/${name}/$summary${rest}`)],
  [
    1,
    fc.constantFrom(
      ...words(`/ // /api /api/ /api//1 /api/% /api/zones/1 /api/tax-classes/ /api/tax-classes/1/ /%2e%2e/api
      /api/../api/tax-classes * /api/tax-classes;x=1`),
    ),
  ],
);

const oneOf = (list: string, ...more: readonly string[]): fc.Arbitrary<string> =>
  fc.constantFrom(...list.split(' | '), ...more);
const headers = fc.record(
  {
    'content-type': oneOf(
      'application/json | application/json | application/json | application/merge-patch+json | application/x-ndjson | text/csv',
      'text/csv; header=absent',
      'application/json; charset=utf-16',
      'text/plain',
      'x',
    ),
    accept: oneOf('*/* | application/json | text/html | application/json;q=0 | ;;;', 'x'.repeat(2_000)),
    'if-match': oneOf('* | "x" | W/"x" | "', 'x'.repeat(1_000)),
    'if-none-match': oneOf('* | "x" | ,'),
    prefer: oneOf(
      'max-affected=3 | max-affected=10000 | max-affected=-1 | return=minimal | count=none | return= | ;',
      'return=minimal, return=representation',
    ),
    'idempotency-key': oneOf('a | "b"', '', 'x'.repeat(600)),
    'accept-encoding': oneOf('gzip | br;q=0 | *;q=0 | identity;q=0'),
    'content-encoding': oneOf('gzip | identity'),
  },
  { requiredKeys: [] },
);

const anything: fc.Arbitrary<HostileRequest> = fc.record({
  method: fc.constantFrom(...words('GET GET POST PUT PATCH DELETE HEAD OPTIONS PROPFIND TRACE')),
  path,
  headers,
  body: fc.option(body, { nil: undefined, freq: 8 }),
});

/** A write of which one value may be wrong. */
function write({ types }: Model): fc.Arbitrary<HostileRequest> {
  const served = [...types.values()].filter(({ operations }) => operations.has('update'));
  return fc
    .tuple(
      fc.constantFrom(...served),
      fc.constantFrom('POST', 'PUT', 'PATCH'),
      identifier,
      query,
      jsonValue,
      fc.nat(60),
    )
    .map(([type, method, id, rest, value, place]) => {
      const names = [...type.fields.keys(), ...type.relations.keys()];
      const wrong = names[place] === undefined ? {} : { [names[place]]: value };
      const at = method === 'POST' ? '' : `/${id}`;
      return {
        method,
        path: `/api/${type.path}${at}${rest.length > 60 ? '' : rest}`,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify({ ...creationExample(type), ...wrong })),
      };
    });
}

export const hostileRequest = (model: Model): fc.Arbitrary<HostileRequest> => fc.oneof(anything, write(model));
