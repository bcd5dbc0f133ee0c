/** Problems, as the interface answers them. */
import { isValueList, isValueObject, parseJson, textOf, type Value } from './json.ts';

export interface Fault {
  readonly code: string;
  readonly message: string;
  /** Its place in the body that was sent. */
  readonly pointer: string | undefined;
  /** The line of the record, in a body with a record on each line. */
  readonly line: number | undefined;
  /** The stored records that are in the way. */
  readonly records: readonly { readonly type: string; readonly identifier: string }[];
}

interface ProblemParts {
  /** 0: there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly errors: readonly Fault[];
  readonly retryAfter?: number;
}

export class Problem extends Error {
  readonly parts: ProblemParts;

  constructor(parts: ProblemParts) {
    super(parts.message);
    this.parts = parts;
  }
}

export const problemOf = (error: unknown): ProblemParts =>
  error instanceof Problem
    ? error.parts
    : { status: -1, code: 'studio', message: error instanceof Error ? error.message : '', errors: [] };

export async function problemFrom(response: Response): Promise<Problem> {
  const { status, headers } = response;
  const retryAfter = Number(headers.get('Retry-After') ?? 0);
  const body = await response.text().then(parsed);
  const said = isValueObject(body) ? body : {};
  const errors = isValueList(said['errors']) ? said['errors'].map(faultFrom) : [];
  const code = textOf(said['type']).replace('urn:problem:', '');
  return new Problem({
    status,
    code: code === '' ? `status-${status}` : code,
    message: textOf(said['message']),
    errors,
    ...(retryAfter > 0 ? { retryAfter } : {}),
  });
}

/** A proxy may answer with something else. */
function parsed(text: string): Value {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function faultFrom(entry: Value): Fault {
  if (!isValueObject(entry))
    return { code: '', message: textOf(entry), pointer: undefined, line: undefined, records: [] };
  const { code = null, message = null, pointer, line, records } = entry;
  return {
    code: textOf(code),
    message: textOf(message),
    pointer: pointer === undefined ? undefined : textOf(pointer),
    line: line === undefined ? undefined : Number(textOf(line)),
    records: (isValueList(records) ? records : [])
      .filter(isValueObject)
      .map(({ type, identifier }) => ({ type: textOf(type), identifier: textOf(identifier) })),
  };
}
