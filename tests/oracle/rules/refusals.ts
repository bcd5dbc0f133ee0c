/** What is refused before any record is looked at: unknown names, malformed JSON, too much of anything, and which fault comes first. */
import type { RecordType } from '../../../engine/model/model.ts';
import { type Call, collectionPath, endpoints, itemPath, MISSING_ID, pathOf, takesBody } from '../call.ts';
import { fullest } from '../samples.ts';
import { send } from '../scene.ts';
import { always, offers, type Rule, rule, single, table } from './rule.ts';

const MISPLACED = ['_cnd[limit][1]=1', '_cnd[orderBy]=x'];
const MALFORMED = ['_cnd=1', '_cnd[]=1', '_cnd[x', 'limit=1', 'orderBy=x', 'include=&include=', '%', '%ff=1'];

const BAD_JSON = ['', '{', '{"a":1,}', 'nothing', '{"a":01}', "{'a':1}", '{"a":1}x', '\u0000'];
const NOT_OBJECTS = ['null', '[]', '1', '"x"', 'true'];

const UNKNOWN_KEYS = ['noSuchKey', '__proto__', 'constructor', 'a/b~c'];

const unknownKeys = ({ open, fields }: RecordType): readonly string[] =>
  open ? [] : [...UNKNOWN_KEYS, ...[...fields.keys()].slice(0, 2).map((name) => `${name}x`)];

/** Everything is wrong with the first; each of the others has one fault less. */
function precedence(call: Call): readonly Call[] {
  const { path, open } = call.type;
  const [nope, text, refusing] = [['nope=1'], '{"noSuchKey":1}', { accept: 'text/html' }];
  return [
    { ...call, path: `/api/${path}-none/x`, wrong: nope, text: '{', headers: refusing },
    { ...call, text: '{', headers: { ...refusing, 'content-type': 'text/plain' } },
    { ...call, wrong: nope, text: '{', headers: { 'content-type': 'text/plain' } },
    { ...call, wrong: nope, text },
    ...(open ? [] : [{ ...call, text }]),
    { ...call, text: '{}' },
  ];
}

const nowhere = (type: RecordType): readonly string[] => [
  `${collectionPath(type)}-none`,
  `${itemPath(type, MISSING_ID)}/more`,
  '/api',
  `/api/${encodeURIComponent(type.path.toUpperCase())}X`,
];

const errors = table(
  'errors',
  single(always, (type) => {
    const all = endpoints(type);
    const wrong = (calls: readonly Call[], parts: readonly string[]) =>
      calls.flatMap((call) => parts.map((part) => ({ ...call, wrong: [part] })));
    const texts = [...BAD_JSON, ...NOT_OBJECTS];
    return [
      ...nowhere(type).map((path) => ({ method: 'GET', path })),
      ...wrong(all, ['noSuchParameter=1']),
      ...wrong(
        all.filter(({ id }) => id !== undefined),
        MISPLACED,
      ),
      ...wrong(
        all.filter(({ method, id }) => method === 'GET' && id === undefined),
        MALFORMED,
      ),
      ...all.filter(takesBody).flatMap((call) => texts.map((text) => ({ ...call, text }))),
      ...all
        .filter(({ method }) => method === 'PUT')
        .flatMap((call) => [
          ...unknownKeys(type).map((key) => ({ ...call, text: `{${JSON.stringify(key)}:1}` })),
          ...precedence(call),
        ]),
    ];
  }),
  rule('POST with a fault in each field', offers('create'), (scene) => {
    const bad = scene.type.defaultVariant.fields
      .filter(({ readOnly }) => !readOnly)
      .flatMap((field) =>
        field.type
          .bad(field)
          .slice(0, 1)
          .map((value) => [field.name, value] as const),
      );
    if (bad.length > 0 && bad.length <= 100)
      send(scene, { method: 'POST', body: { ...fullest(scene), ...Object.fromEntries(bad) } });
  }),
);

const manyTimes = (count: number, textOf: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => textOf(index)).join(',');
const keysText = (count: number): string => `{${manyTimes(count, (index) => `"k${index}":1`)}}`;
const itemsText = (count: number): string => `{"k":[${manyTimes(count, () => '1')}]}`;
const levelsText = (count: number): string => `${'{"k":'.repeat(count)}1${'}'.repeat(count)}`;

/** At the limit a request is looked at, beyond it is refused before anything else. */
const limits = table(
  'limits',
  single(always, (type, { bodyLimit, bodyKeys, bodyItems, bodyDepth, urlLimit }) => {
    const writing = endpoints(type).filter(takesBody);
    const texts = [
      ...(bodyKeys === undefined ? [] : [keysText(bodyKeys + 1)]),
      ...(bodyItems === undefined ? [] : [itemsText(bodyItems + 1)]),
      ...(bodyDepth === undefined ? [] : [levelsText(bodyDepth + 1)]),
    ].filter((text) => text.length <= (bodyLimit ?? Infinity));
    return [
      ...(bodyLimit === undefined ? [] : writing.flatMap((call) => padded(call, bodyLimit))),
      ...writing.slice(0, 1).flatMap((call) => texts.map((text) => ({ ...call, text }))),
      ...(urlLimit === undefined ? [] : endpoints(type).flatMap((call) => lengthened(call, urlLimit))),
    ];
  }),
);

function padded(call: Call, bytes: number): readonly Call[] {
  const large = { ...call, padTo: bytes + 1 };
  if (call.method !== 'PUT') return [large];
  return [large, { ...large, headers: { 'transfer-encoding': 'chunked' } }, { ...call, padTo: bytes }];
}

function lengthened(call: Call, limit: number): readonly Call[] {
  const room = limit - pathOf(call).length - 1;
  return room < 1 ? [] : [room + 1, room].map((length) => ({ ...call, wrong: ['a'.repeat(length)] }));
}

export const refusalRules: readonly Rule[] = [...errors, ...limits];
