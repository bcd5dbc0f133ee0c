/** Problems for agents, each with the next step: an agent cannot read a manual in between. */
import { nearest, shortened } from '../names.ts';
import type { JsonObject } from '../json/json.ts';
import { type Fault, MAX_ERRORS, Problem, type ProblemCode, problemKinds } from '../problem.ts';

const WAIT = 'Wait as many seconds as retry_after says, then call again.';
const DESCRIBE = 'Correct what errors name; describe_type shows the fields, relations and rules.';
const RETRY_WRITE =
  'Read the record again to see whether it was written. A create with an idempotency_key can be repeated safely.';

const NEXT: Readonly<Record<ProblemCode, string>> = {
  'bad-request': 'Correct the arguments.',
  'invalid-query': 'Correct the arguments that errors name; describe_type shows the fields and relations.',
  'invalid-header': 'Correct the arguments that errors name.',
  'invalid-identifier': 'An identifier is a whole number from 1; list_records shows those that there are.',
  'invalid-json': 'Send valid JSON.',
  'invalid-csv': 'Send JSON.',
  'too-many-related': 'Ask for fewer relations with include, or list the related records by themselves.',
  'too-many-groups': 'Group by less, or narrow the records down with where.',
  unauthorized: 'Ask the operator of the service for a token.',
  forbidden: 'Your token does not allow this. Do not try again; tell the user which right is missing.',
  'path-not-found': 'list_types shows the types that there are.',
  'record-not-found': 'list_records shows the records that there are.',
  'method-not-allowed': 'list_types shows what each type offers.',
  'not-acceptable': 'Correct the arguments.',
  'request-timeout': 'Call again.',
  'unique-conflict': 'Find the record with this value by list_records, and update it, or choose another value.',
  'identifier-conflict': 'Leave the identifier out, or choose a free one.',
  'link-conflict': 'Send only the identifier of the related record here, and update that record by itself.',
  'restrict-conflict': 'Delete or unlink the records that refer to this one first; the message names them.',
  'too-many-affected': 'Ask for less at once.',
  'precondition-failed': 'Call get_record again, look at what has changed, and repeat the write with the new etag.',
  'content-too-large': 'Send less at once.',
  'batch-too-large': 'Send fewer records at once.',
  'uri-too-long': 'Use fewer or shorter filters.',
  'unsupported-media-type': 'Send JSON.',
  'misdirected-request': 'Use the address that the operator of the service names.',
  'origin-not-allowed': 'The operator of the service can allow the origin with the setting CORS_ORIGINS.',
  'invalid-body': DESCRIBE,
  'invalid-reference': 'Link a record that exists: list_records of the related type shows them.',
  'too-many-rows': 'Change less at once.',
  'idempotency-conflict': 'Use a new idempotency_key for another record.',
  'precondition-required': 'Call get_record first, and send its etag.',
  'rate-limited': WAIT,
  'headers-too-large': 'Send fewer headers.',
  'internal-error': 'This is a fault of the service. Tell the user; its log says more.',
  'statement-timeout': 'Ask for less: a smaller limit, a filter on an indexed field, or fewer relations.',
  'refused-by-database': 'A rule of the database refuses this write. Tell the user what the message says.',
  'missing-privilege': 'Tell the user that the service lacks a privilege in its database.',
  'storage-busy': WAIT,
  overloaded: WAIT,
  'outcome-unknown': RETRY_WRITE,
  'storage-full': 'Tell the user that the disk of the service is full.',
};

/** A problem in the words of the tools. */
export function nextStep({ code, status, message, errors, retryAfter }: Problem): JsonObject {
  return {
    problem: code,
    status,
    message: inTools(message),
    ...(errors.length === 0 ? {} : { errors: errors.slice(0, MAX_ERRORS).map(faultInTools) }),
    ...(errors.length > MAX_ERRORS ? { errorCount: errors.length } : {}),
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    next: NEXT[code],
  };
}

export function problemHelp(code: string | undefined): JsonObject {
  const codes = Object.keys(problemKinds) as ProblemCode[];
  if (code === undefined) return { problems: Object.fromEntries(codes.map((one) => [one, problemKinds[one].title])) };
  const name = code.replace(/^urn:problem:/, '');
  const known = codes.find((one) => one === name);
  if (known !== undefined) return { problem: known, ...problemKinds[known], next: NEXT[known] };
  const near = nearest(name, codes);
  throw new Problem(
    'invalid-query',
    `There is no problem "${shortened(name)}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
  );
}

// Requests name places by parameter and header, tools by argument.

const HEADERS: Readonly<Record<string, string>> = {
  'If-Match': 'etag',
  'Idempotency-Key': 'idempotency_key',
  Prefer: 'count',
};

function faultInTools(fault: Fault): JsonObject {
  const { code, message } = fault;
  const said = { code, message: inTools(message) };
  if ('pointer' in fault) return { pointer: fault.pointer, ...said };
  if ('parameter' in fault) return { argument: argumentOf(fault.parameter), ...said };
  if ('header' in fault) return { argument: HEADERS[fault.header] ?? fault.header, ...said };
  return { relation: fault.relation, ...said };
}

const CONDITION = /_cnd((?:\[[^\]]*\])+)/g;

/** `_cnd[zone.name][like]` is `where.zone.name.like`. */
function argumentOf(parameter: string): string {
  const [, steps] = /^_cnd((?:\[[^\]]*\])*)$/.exec(parameter) ?? [];
  if (steps === undefined) return parameter;
  const [first = '', ...rest] = [...steps.matchAll(/\[([^\]]*)\]/g)].map(([, step = '']) => step);
  if (first === 'limit') return rest[0] === '0' ? 'offset' : 'limit';
  if (first === 'orderBy') return 'order';
  return ['where', first, ...rest].filter((step) => step !== '').join('.');
}

const inTools = (message: string): string => message.replaceAll(CONDITION, (parameter) => argumentOf(parameter));
