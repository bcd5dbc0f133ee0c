/** Problems for agents, each with the next step: an agent cannot read a manual in between. */
import { type Fault, MAX_ERRORS, type Problem, type ProblemCode } from '../problem.ts';

const WAIT = 'Wait as many seconds as retry_after says, then call again.';

/** Only for problems whose message does not name the next step. */
const NEXT: Readonly<Partial<Record<ProblemCode, string>>> = {
  'invalid-identifier': 'An identifier is a whole number from 1; list_records shows those that there are.',
  unauthorized: 'Ask the operator of the service for a token.',
  forbidden: 'Your token does not allow this. Do not try again; tell the user which right is missing.',
  'path-not-found': 'list_types shows the types that there are.',
  'record-not-found': 'list_records shows the records that there are.',
  'method-not-allowed': 'list_types shows what each type offers.',
  'unique-conflict': 'Find the record with this value by list_records, and update it, or choose another value.',
  'precondition-failed': 'Call get_record again, look at what has changed, and repeat the write with the new etag.',
  'invalid-reference': 'Link a record that exists: list_records of the related type shows them.',
  'idempotency-conflict': 'Use a new idempotency_key for another record.',
  'precondition-required': 'Call get_record first, and send its etag.',
  'rate-limited': WAIT,
  'internal-error': 'This is a fault of the service. Tell the user; its log says more.',
  'statement-timeout': 'Ask for less: a smaller limit, a filter on an indexed field, or fewer relations.',
  'refused-by-database': 'A rule of the database refuses this write. Tell the user what the message says.',
  'missing-privilege': 'Tell the user that the service lacks a privilege in its database.',
  'storage-busy': WAIT,
  overloaded: WAIT,
  'outcome-unknown':
    'Read the record again to see whether it was written. A create with an idempotency_key can be repeated safely.',
  'storage-full': 'Tell the user that the disk of the service is full.',
};

export function nextStep({ code, status, message, errors, retryAfter }: Problem): object {
  return {
    problem: code,
    status,
    message: inTools(message),
    ...(errors.length === 0 ? {} : { errors: errors.slice(0, MAX_ERRORS).map(faultInTools) }),
    ...(errors.length > MAX_ERRORS ? { errorCount: errors.length } : {}),
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    next: NEXT[code] ?? 'Correct what the message names; describe_type shows the fields, relations and rules.',
  };
}

// Requests have parameters and headers, tools have arguments.

const HEADERS: Readonly<Record<string, string>> = {
  'If-Match': 'etag',
  'Idempotency-Key': 'idempotency_key',
  Prefer: 'count',
};

function faultInTools(fault: Fault): object {
  const message = inTools(fault.message);
  if ('parameter' in fault) {
    const { parameter, ...rest } = fault;
    return { argument: argumentOf(parameter), ...rest, message };
  }
  if (!('header' in fault)) return { ...fault, message };
  const { header, ...rest } = fault;
  return { argument: HEADERS[header] ?? header, ...rest, message };
}

/** `_cnd[zone.name][like]` is `where.zone.name.like`. */
function argumentOf(parameter: string): string {
  if (!/^_cnd(?:\[[^\]]*\])*$/.test(parameter)) return parameter;
  const [first = '', ...rest] = [...parameter.matchAll(/\[([^\]]*)\]/g)].map(([, step = '']) => step);
  if (first === 'limit') return rest[0] === '0' ? 'offset' : 'limit';
  if (first === 'orderBy') return 'order';
  return ['where', first, ...rest].filter((step) => step !== '').join('.');
}

const inTools = (message: string): string => message.replaceAll(/_cnd(?:\[[^\]]*\])+/g, argumentOf);
