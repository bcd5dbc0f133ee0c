/** The guide for authors of clients, as Markdown, made from the schema that is served: its examples run as they stand. */
import { MAX_GROUP_DEPTH } from '../descriptor/conditions.ts';
import { API_ROOT } from '../http/routes.ts';
import type { JsonValue } from '../json.ts';
import {
  type Field,
  MAX_INCLUDE_DEPTH,
  MAX_SHOWN_ROWS,
  type Model,
  type RecordType,
  type Relation,
} from '../model/model.ts';
import { changeExample, creationExample, recordExample } from '../openapi/examples.ts';
import type { HttpDialectName } from '../settings.ts';
import type { RequestLimits } from './model-document.ts';

export interface GuideSubject {
  readonly guarded: boolean;
  readonly dialects: readonly HttpDialectName[];
  /** Whether agents can connect to `/mcp`. */
  readonly agents: boolean;
  readonly limits: RequestLimits;
}

/** More rows help nobody: the reference has them all. */
const MAX_ROWS = 100;

const pathOf = ({ path }: RecordType): string => API_ROOT + encodeURIComponent(path);

const offers = ({ operations }: RecordType, ...names: readonly ('create' | 'list' | 'get' | 'update' | 'delete')[]) =>
  names.every((name) => operations.has(name));

/** Examples are about the type that can do most, and of those about the smallest. */
function typeOfExamples(served: readonly RecordType[]): RecordType | undefined {
  const rank = (type: RecordType): number =>
    (offers(type, 'create', 'get', 'list') ? 0 : 1000) +
    (type.identifier.inRecord ? 0 : 500) +
    [...type.relations.values()].filter(({ required }) => required).length * 100 +
    // Of sensitive values, and of few, there is little to show.
    [...type.fields.values()].filter(({ sensitive }) => sensitive).length * 50 +
    (type.fields.size < 3 ? 5 : 0) +
    type.fields.size +
    type.relations.size;
  return served.toSorted((one, other) => rank(one) - rank(other))[0];
}

/** What examples need. */
interface Examples {
  readonly type: RecordType;
  /** Where the service is reached, without a slash at the end. */
  readonly base: string;
  /** The options of curl that every request has. */
  readonly sent: string;
}

/** `base`: where the service is reached. Without a token that is known, the model is empty. */
export function guideText({ types }: Model, subject: GuideSubject, base: string): string {
  const { guarded } = subject;
  const served = [...types.values()].filter(({ operations }) => operations.size > 0);
  const type = typeOfExamples(served);
  const sent = guarded ? ` -H 'Authorization: Bearer TOKEN'` : '';
  const parts = [
    '# Guide for client authors',
    `The service reads and writes records over HTTP, in JSON. Its address is \`${base}\`.`,
    authentication(guarded, base, type),
    ...(type === undefined ? [] : [...aboutRecords(served, { type, base, sent }), limitsOf(subject.limits)]),
    ERRORS,
    otherClients(subject, base),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const aboutRecords = (served: readonly RecordType[], examples: Examples): readonly string[] => [
  typeTable(served),
  creating(examples),
  reading(examples),
  finding(examples),
  showing(served),
  changing(examples),
  linking(served),
  deleting(examples),
];

// Markdown.

const section = (title: string, ...parts: readonly string[]): string =>
  [`## ${title}`, ...parts.filter((part) => part !== '')].join('\n\n');

const json = (value: JsonValue): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

/** Within a shell's single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const shell = ({ base, sent }: Examples, path: string, ...options: readonly string[]): string =>
  `\`\`\`sh\ncurl -g${sent} ${quoted(base + path)}${options.map((option) => ` ${option}`).join('')}\n\`\`\``;

const jsonBody = (value: JsonValue): string => `--json ${quoted(JSON.stringify(value))}`;

/** A text in a cell of a table, on one line. */
const cell = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(/[|<>`[\]\\*_]/g, '\\$&');

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.slice(0, MAX_ROWS)].map((row) => `| ${row.join(' | ')} |`).join('\n');

const code = (text: string): string => `\`${text}\``;

// Sections.

function authentication(guarded: boolean, base: string, type: RecordType | undefined): string {
  if (!guarded)
    return section('Authentication', 'This service needs no tokens: anyone who can reach it may read and write.');
  const url = type ? base + pathOf(type) : `${base}${API_ROOT}TYPE`;
  return section(
    'Authentication',
    'Every request needs a token, which the operator of the service gives out. Send it in a header, and never in a URL:',
    `\`\`\`sh\ncurl -H 'Authorization: Bearer TOKEN' ${quoted(url)}\n\`\`\``,
    'A request without a token, or with one that is unknown or was revoked, gets 401. A request for something that the token is not allowed to do gets 403. Types that it is not allowed to read do not exist for it: requests to their paths get 404.',
    type ? '' : 'Enter a token above to see the record types that it may use, with examples.',
  );
}

const typeTable = (served: readonly RecordType[]): string =>
  section(
    'Record types',
    table(
      ['Type', 'Path', 'Operations', 'Identifier'],
      served.map((type) => [
        cell(type.name),
        code(pathOf(type)),
        [...type.operations].join(', '),
        type.identifier.inRecord ? code(type.identifier.name) : 'only in paths',
      ]),
    ),
    'The [reference](../docs) has all fields, parameters and responses of each.',
  );

function creating(examples: Examples): string {
  const { type } = examples;
  if (!offers(type, 'create')) return '';
  return section(
    'Create a record',
    shell(examples, pathOf(type), jsonBody(creationExample(type))),
    json(recordExample(type)),
    'The response is 201, with the whole record. `Location` is its path, `ETag` its tag. A field that is left out has its default. A write with an `Idempotency-Key` header can be sent again if no response came: it is done once.',
  );
}

function reading(examples: Examples): string {
  const { type } = examples;
  const parts = [
    ...(offers(type, 'get', 'create') ? ['One record:', shell(examples, `${pathOf(type)}/1`)] : []),
    ...(offers(type, 'list')
      ? [
          'The first page of 20 records:',
          shell(examples, `${pathOf(type)}?_cnd[limit]=0,20`),
          `\`X-Total-Count\` is the number of records in the whole list. For the next page, follow the link with \`rel="next"\` in \`Link\`, exactly as it is, until there is none: the link stays correct while records are added and deleted. The largest page has ${type.maxLimit} records. Without \`_cnd[limit]\` you get the whole list; with \`Accept: application/x-ndjson\` it has one record per line, and with \`Accept: text/csv\` it is a table.`,
        ]
      : []),
  ];
  return parts.length === 0 ? '' : section('Read records', ...parts);
}

const comparable = ({ defaultVariant }: RecordType): readonly Field[] =>
  defaultVariant.fields.filter(({ type }) => type.operators.length > 0);

function finding(examples: Examples): string {
  const { type } = examples;
  const fields = comparable(type);
  const field = fields.find(({ sensitive }) => !sensitive);
  if (!offers(type, 'list') || field === undefined) return '';
  const value = creationExample(type)[field.name] ?? field.examples[0];
  const operand = typeof value === 'object' || value === undefined ? '' : encodeURIComponent(String(value));
  const operator = field.type.operators.includes('gte') ? '[gte]' : '';
  const filter = operand === '' ? `_cnd[${field.name}][null]=false` : `_cnd[${field.name}]${operator}=${operand}`;
  return section(
    'Filter and sort',
    shell(examples, `${pathOf(type)}?${filter}&_cnd[orderBy]=${field.name},desc`),
    `\`_cnd[field]=value\` finds records whose field equals the value, and \`_cnd[field][operator]=value\` compares in another way; all filters must match. A path such as \`_cnd[relation.field]\` leads to related records, and \`_cnd[$any][0][field]=…&_cnd[$any][1][field]=…\` finds records that match at least one of several filters. Unknown names are rejected with 400, and the response says what was probably meant. ${cell(type.name)} can be filtered and sorted by:`,
    table(
      ['Field', 'Type', 'Operators'],
      fields.map(({ name, type: { name: kind, operators } }) => [code(name), kind, operators.map(code).join(' ')]),
    ),
  );
}

const relationsOf = (served: readonly RecordType[]): readonly Relation[] =>
  served.flatMap(({ relations }) => [...relations.values()]);

function showing(served: readonly RecordType[]): string {
  const [relation] = relationsOf(served);
  const related = relation
    ? ` \`include=${relation.name}\` shows this relation instead of the usual ones, \`include=\` none, and paths lead up to four levels deep.`
    : '';
  return section(
    'Choose what is shown',
    `\`fields=a,b\` shows these fields and the identifier.${related} Writes take both as well, for what they return.`,
  );
}

function changing(examples: Examples): string {
  const { type } = examples;
  if (!offers(type, 'update', 'create')) return '';
  const guard = type.preconditions === 'off' ? [] : [`-H 'If-Match: *'`];
  const condition =
    type.preconditions === 'off'
      ? ''
      : ' Send the `ETag` that you read as `If-Match` in place of `*`, and you get 412 if somebody has changed the record in the meantime.';
  return section(
    'Change a record',
    shell(examples, `${pathOf(type)}/1`, '-X PATCH', ...guard, jsonBody(changeExample(type))),
    `PUT and PATCH change the keys in the body and leave the others as they are; null clears a field.${condition} With \`dryRun=true\` a write says what it would do, and does nothing.`,
  );
}

function linking(served: readonly RecordType[]): string {
  const all = relationsOf(served);
  const linked = all.find(({ target, toMany }) => target.identifier.inRecord && !toMany);
  if (all.length === 0) return '';
  const example = linked
    ? `\`{"${linked.name}": {"${linked.target.identifier.name}": 1}}\` links an existing record, and \`{"${linked.name}": null}\` unlinks it.  `
    : '';
  return section(
    'Related records',
    `${example}Where new records are allowed, a body may hold them whole. A set in a body is the whole set: what it leaves out is unlinked, or deleted if the record owns it.`,
    table(
      ['Type', 'Relation', 'Leads to', 'Bodies may'],
      all.map(({ source, name, target, toMany, owned, nested }) => [
        cell(source.name),
        code(name),
        `${toMany ? 'many' : 'one'} ${cell(target.name)}${owned ? ', its own' : ''}`,
        nested === 'write' ? 'create, change and link' : 'link',
      ]),
    ),
  );
}

function deleting(examples: Examples): string {
  const { type } = examples;
  if (!offers(type, 'delete', 'create')) return '';
  const guard = type.preconditions === 'off' ? [] : [`-H 'If-Match: *'`];
  return section(
    'Delete a record',
    shell(examples, `${pathOf(type)}/1`, '-X DELETE', ...guard),
    'The response is the record as it was.',
  );
}

const count = (most: number): string => most.toLocaleString('en-US');

const limitsOf = (limits: RequestLimits): string =>
  section(
    'Limits',
    'A request that exceeds a limit of this service is rejected as a whole, with a message that says what to do instead.',
    table(
      ['What', 'At most', 'Beyond'],
      [
        ['a body', `${count(limits.bodyLimit)} bytes`, '413'],
        ['items of an array of records', count(limits.batchLimit), '413'],
        [
          'what a body holds',
          `${count(limits.bodyKeys)} keys, ${count(limits.bodyItems)} items in each array, ${count(limits.bodyDepth)} levels`,
          '400, 413',
        ],
        ['a URL', `${count(limits.urlLimit)} characters`, '414'],
        ['filters of a list', `${count(limits.maxFilters)}, in groups up to ${MAX_GROUP_DEPTH} levels deep`, '400'],
        [
          'relations that a request shows',
          `${count(limits.maxIncludes)}, up to ${MAX_INCLUDE_DEPTH} levels deep`,
          '400',
        ],
        ['related records that one record shows', count(MAX_SHOWN_ROWS), '400'],
        ['records that a write touches', count(limits.writeRows), '422'],
      ],
    ),
  );

const ERRORS = section(
  'Handle errors',
  'Every error is `application/problem+json` (RFC 9457). `errors` has each thing that is wrong, with its place: a `pointer` into the body, a `parameter` or a `header`.',
  table(
    ['Status', 'What to do'],
    [
      ['400, 413, 414, 415, 422', 'change the request as `errors` says'],
      ['401, 403', 'send a token that may do this'],
      ['404', 'the record or path does not exist'],
      ['409', 'another record has this value, or refers to this one'],
      ['412, 428', 'read the record again, and send its `ETag` as `If-Match`'],
      ['429, 503', 'wait as many seconds as `Retry-After` says'],
      ['504', 'read the record to see whether the write was done'],
    ],
  ),
);

const DIALECTS: Readonly<Record<HttpDialectName, string>> = {
  'json-server': 'for clients of json-server, react-admin with ra-data-json-server, and refine',
  'simple-rest': 'for react-admin with ra-data-simple-rest',
};

function otherClients({ dialects, agents }: GuideSubject, base: string): string {
  const rows = [
    [code(`${base}/openapi.json`), 'all operations as OpenAPI 3.1'],
    [code(`${base}/openapi.json?profile=simple`), 'the same as OpenAPI 3.0, for client generators'],
    ...dialects.map((name) => [code(`${base}/${name}`), DIALECTS[name]]),
    ...(agents ? [[code(`${base}/mcp`), 'tools for agents, over the Model Context Protocol']] : []),
    [code(`${base}/llms.txt`), 'where agents start'],
  ];
  return section('Generated clients, admin frameworks and agents', table(['Address', ''], rows));
}
