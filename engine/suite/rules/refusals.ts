/** What is refused before any record is looked at: unknown names, malformed JSON, too much of anything, and which fault comes first. */
import type { RecordType } from '../../model/model.ts';
import { type Call, collectionPath, endpoints, itemPath, MISSING_ID, pathOf, takesBody } from '../call.ts';
import { fullest } from '../samples.ts';
import { send } from '../scene.ts';
import { offers, type Rule, rule, single, table } from './rule.ts';

const MISPLACED = ['_cnd[limit][1]=1', '_cnd[orderBy]=x'];
const MALFORMED = ['_cnd=1', '_cnd[]=1', '_cnd[x', 'limit=1', 'orderBy=x', 'include=&include=', '%', '%ff=1'];

const BAD_JSON = ['', '{', '{"a":1,}', 'nothing', '{"a":01}', "{'a':1}", '{"a":1}x', '\u0000'];
const NOT_OBJECTS = ['null', '[]', '1', '"x"', 'true'];

const of = (type: RecordType, method: string): readonly Call[] =>
  endpoints(type).filter((one) => one.method === method);
const writing = (type: RecordType): readonly Call[] => endpoints(type).filter(takesBody);

const unknownKeys = (type: RecordType): readonly string[] =>
  type.open
    ? []
    : [
        'noSuchKey',
        '__proto__',
        'constructor',
        'a/b~c',
        ...[...type.fields.keys()].slice(0, 2).map((name) => `${name}x`),
      ];

/** Everything is wrong with the first; each of the others has one fault less. */
function precedence(call: Call): readonly Call[] {
  const { type } = call;
  const [nope, text, refusing] = [['nope=1'], '{"noSuchKey":1}', { accept: 'text/html' }];
  return [
    { ...call, path: `/api/${type.path}-none/x`, wrong: nope, text: '{', headers: refusing },
    { ...call, text: '{', headers: { ...refusing, 'content-type': 'text/plain' } },
    { ...call, wrong: nope, text: '{', headers: { 'content-type': 'text/plain' } },
    { ...call, wrong: nope, text },
    ...(type.open ? [] : [{ ...call, text }]),
    { ...call, text: '{}' },
  ];
}

const errors = table('errors', [
  single({
    calls: (type) => [
      ...[
        `${collectionPath(type)}-none`,
        `${itemPath(type, MISSING_ID)}/more`,
        '/api',
        `/api/${encodeURIComponent(type.path.toUpperCase())}X`,
      ].map((path) => ({ type, method: 'GET', path })),
      ...endpoints(type).map((call) => ({ ...call, wrong: ['noSuchParameter=1'] })),
      ...endpoints(type)
        .filter(({ id }) => id !== undefined)
        .flatMap((call) => MISPLACED.map((part) => ({ ...call, wrong: [part] }))),
      ...of(type, 'GET')
        .filter(({ id }) => id === undefined)
        .flatMap((call) => MALFORMED.map((part) => ({ ...call, wrong: [part] }))),
      ...writing(type).flatMap((call) => [...BAD_JSON, ...NOT_OBJECTS].map((text) => ({ ...call, text }))),
      ...of(type, 'PUT').flatMap((call) => [
        ...unknownKeys(type).map((key) => ({ ...call, text: `{${JSON.stringify(key)}:1}` })),
        ...precedence(call),
      ]),
    ],
  }),
  rule({
    when: offers('create'),
    title: 'POST with a fault in each field',
    requests: (scene) => {
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
    },
  }),
]);

const keysText = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
const itemsText = (count: number): string => `{"k":[${Array.from({ length: count }, () => 1).join(',')}]}`;
const levelsText = (count: number): string => `${'{"k":'.repeat(count)}1${'}'.repeat(count)}`;

/** At the limit a request is looked at, beyond it is refused before anything else. */
const limits = table('limits', [
  single({
    calls: (type, { bodyLimit, bodyKeys, bodyItems, bodyDepth, urlLimit }) => {
      const [first] = writing(type);
      const texts = [
        ...(bodyKeys === undefined ? [] : [keysText(bodyKeys + 1)]),
        ...(bodyItems === undefined ? [] : [itemsText(bodyItems + 1)]),
        ...(bodyDepth === undefined ? [] : [levelsText(bodyDepth + 1)]),
      ].filter((text) => text.length <= (bodyLimit ?? Infinity));
      return [
        ...(bodyLimit === undefined ? [] : writing(type).flatMap((call) => padded(call, bodyLimit))),
        ...(first ? texts.map((text) => ({ ...first, text })) : []),
        ...(urlLimit === undefined ? [] : endpoints(type).flatMap((call) => lengthened(call, urlLimit))),
      ];
    },
  }),
]);

function padded(call: Call, bytes: number): readonly Call[] {
  const large = { ...call, padTo: bytes + 1 };
  return call.method === 'PUT'
    ? [large, { ...large, headers: { 'transfer-encoding': 'chunked' } }, { ...call, padTo: bytes }]
    : [large];
}

function lengthened(call: Call, limit: number): readonly Call[] {
  const room = limit - pathOf(call).length - 1;
  return room < 1 ? [] : [room + 1, room].map((length) => ({ ...call, wrong: ['a'.repeat(length)] }));
}

export const refusalRules: readonly Rule[] = [...errors, ...limits];
