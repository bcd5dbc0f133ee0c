/** Sorts the parameters of a request by who reads them, and refuses those that nobody reads. */
import type { RecordType } from '../model/model.ts';
import { nearest } from '../names.ts';
import type { Fault } from '../problem.ts';
import { complainAbout, quote } from './faults.ts';
import { type Parameter, parseParameters } from './parameters.ts';

export interface SortedParameters {
  readonly limit: readonly Parameter[];
  readonly orderBy: readonly Parameter[];
  readonly filters: readonly Parameter[];
  /** The others, each of which is given once. */
  readonly plain: ReadonlyMap<string, string>;
}

/** What a kind of request knows. */
export interface Accepted {
  readonly plain: ReadonlySet<string>;
  /** Whether it takes `_cnd[…]`. */
  readonly conditions: boolean;
  /** Each name that a client may have meant, and how it is written. */
  readonly spellings: ReadonlyMap<string, string>;
}

const VIEW_PARAMETERS = ['include', 'fields', 'variant'];
const LIST_PARAMETERS = [...VIEW_PARAMETERS, 'after', 'before'];

export const ACCEPTED_BY_VIEWS: Accepted = {
  plain: new Set(VIEW_PARAMETERS),
  conditions: false,
  spellings: new Map(VIEW_PARAMETERS.map((name) => [name, name])),
};

export function acceptedByLists({ identifier, fields, relations }: RecordType): Accepted {
  const conditions = ['limit', 'orderBy', identifier.name, ...fields.keys(), ...relations.keys()];
  const spellings = [
    ...conditions.map((name) => [name, `_cnd[${name}]`] as const),
    ...LIST_PARAMETERS.map((name) => [name, name] as const),
  ];
  return { plain: new Set(LIST_PARAMETERS), conditions: true, spellings: new Map(spellings) };
}

export function sortParameters(search: string, accepted: Accepted, faults: Fault[]): SortedParameters {
  const { all, faults: undecodable } = parseParameters(search);
  for (const fault of undecodable) faults.push(fault);
  const sorted = {
    limit: [] as Parameter[],
    orderBy: [] as Parameter[],
    filters: [] as Parameter[],
    plain: new Map<string, string>(),
  };
  for (const parameter of all) {
    const { key, steps, value } = parameter;
    if (steps && accepted.conditions) sorted[readerOf(steps)].push(parameter);
    else if (!accepted.plain.has(key)) refuse(parameter, accepted, faults);
    else if (sorted.plain.has(key)) complainAbout(faults, key)('repeated', `"${key}" is given twice`);
    else sorted.plain.set(key, value);
  }
  return sorted;
}

function readerOf([name]: readonly string[]): 'limit' | 'orderBy' | 'filters' {
  return name === 'limit' || name === 'orderBy' ? name : 'filters';
}

function refuse({ key, steps }: Parameter, { conditions, spellings }: Accepted, faults: Fault[]): void {
  const complain = complainAbout(faults, key);
  if (steps && !conditions) complain('unknown-parameter', `${quote(key)} is a parameter of lists only`);
  else complain('unknown-parameter', `${quote(key)} is no parameter here`, () => suggestion(key, spellings));
}

/** `limit` was meant to be `_cnd[limit]`, `includ` and `include[]` to be `include`. */
function suggestion(key: string, spellings: Accepted['spellings']): string {
  const bare = key.replace(/^_cnd(?=\[)/, '').replace(/[[\]]/g, '');
  const meant = spellings.get(nearest(bare, spellings.keys()) ?? '');
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}
