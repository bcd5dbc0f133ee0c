/** Sorts the parameters of a request by their use, and refuses those that its kind does not accept. */
import type { RecordType } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { nearest } from '../names.ts';
import type { Fault } from '../problem.ts';
import type { QueryLimits, View } from './list-query.ts';
import { complainAbout, didYouMeanHint, type Parameter, type Parameters, quote } from './parameters.ts';
import type { PathNames } from './paths.ts';

/** The names of a variant, and the view of a request without `include` and `fields`. */
export interface VariantNames extends PathNames {
  readonly view: View;
}

/** A request whose parameters are sorted. */
export interface QueryReading {
  readonly type: RecordType;
  readonly names: VariantNames;
  readonly limits: QueryLimits;
  readonly limit: readonly Parameter[];
  readonly orderBy: readonly Parameter[];
  readonly filters: readonly Parameter[];
  /** The other parameters, which can be given only once. */
  readonly plain: ReadonlyMap<string, string>;
  /** All of them are reported together. */
  readonly faults: Fault[];
}

/** The parameters that a kind of request accepts. */
export interface AcceptedParameters {
  readonly plain: readonly string[];
  /** Whether it finds records by `_cnd[…]`, or why it does not. */
  readonly conditions: true | string;
}

export const DRY_RUN = 'dryRun';
export const ON = 'on';

const VIEW_PARAMETERS = ['include', 'fields', 'variant'];
const NO_CHANGES =
  'finds records to list or to delete; changes by filter do not exist: send PATCH with an array of records, each with its identifier';

export const ACCEPTED = {
  list: { plain: [...VIEW_PARAMETERS, 'after', 'before'], conditions: true },
  summary: { plain: ['by', 'measure', 'variant'], conditions: true },
  remove: { plain: ['variant', DRY_RUN], conditions: true },
  view: { plain: VIEW_PARAMETERS, conditions: 'can only be used with lists' },
  write: { plain: [...VIEW_PARAMETERS, DRY_RUN], conditions: NO_CHANGES },
  upsert: { plain: [...VIEW_PARAMETERS, DRY_RUN, ON], conditions: NO_CHANGES },
} as const satisfies Record<string, AcceptedParameters>;

export function sortParameters(
  { all, faults: unreadable }: Parameters,
  accepted: AcceptedParameters,
  type: RecordType,
  rights: Rights,
): Pick<QueryReading, 'limit' | 'orderBy' | 'filters' | 'plain' | 'faults'> {
  const faults = [...unreadable];
  const sorted = { limit: [] as Parameter[], orderBy: [] as Parameter[], filters: [] as Parameter[] };
  const plain = new Map<string, string>();
  for (const parameter of all) {
    const { key, steps, value } = parameter;
    if (steps && accepted.conditions === true) sorted[useOf(steps)].push(parameter);
    else if (!accepted.plain.includes(key)) refuse(parameter, accepted, type, rights, faults);
    else if (plain.has(key)) complainAbout(faults, key)('repeated', `"${key}" is given twice`);
    else plain.set(key, value);
  }
  return { ...sorted, plain, faults };
}

const useOf = ([name]: readonly string[]): 'limit' | 'orderBy' | 'filters' =>
  name === 'limit' || name === 'orderBy' ? name : 'filters';

function refuse(
  { key, steps, value }: Parameter,
  { plain, conditions }: AcceptedParameters,
  type: RecordType,
  rights: Rights,
  faults: Fault[],
): void {
  const complain = complainAbout(faults, key);
  const meant = habitHint(key, value);
  if (conditions !== true && (steps !== undefined || meant?.startsWith('_cnd[')))
    complain('unknown-parameter', `${quote(key)} ${conditions}`);
  else if (key === DRY_RUN) complain('unknown-parameter', `"${key}" can only be used with requests that write`);
  else
    complain('unknown-parameter', `Unknown parameter ${quote(key)}`, () =>
      didYouMeanHint(meant ?? spellingOf(key, plain, conditions === true ? conditionsOn(type, rights) : [])),
    );
}

const conditionsOn = (type: RecordType, rights: Rights): readonly string[] => [
  'limit',
  'orderBy',
  type.identifier.name,
  ...type.fields.keys(),
  ...relationsFor(rights, type).keys(),
];

/** `limit` was meant to be `_cnd[limit]`, `includ` and `include[]` to be `include`. */
function spellingOf(key: string, plain: readonly string[], conditions: readonly string[]): string | undefined {
  const bare = key.replace(/^_cnd(?=\[)/, '').replace(/[[\]]/g, '');
  const near = nearest(bare, [...conditions, ...plain]);
  return near === undefined || plain.includes(near) ? near : `_cnd[${near}]`;
}

// Parameters of other products, with the parameter that means the same here.

const PAGE = 20;

const whole = (text: string, otherwise: number): number => (/^\d{1,9}$/.test(text) ? Number(text) : otherwise);

const condition = (): string => '_cnd[FIELD]=VALUE';
const search = (): string => '_cnd[FIELD][like]=*TEXT*';

function order(value: string): string {
  const [name = 'FIELD'] = /[\p{L}_][\p{L}\p{N}_.]*/u.exec(value) ?? [];
  return `_cnd[orderBy]=${name}${/^-|\bdesc\b/i.test(value) ? ',desc' : ''}`;
}

const HABITS: ReadonlyMap<string, (value: string) => string> = new Map([
  ['limit', (value: string) => `_cnd[limit]=0,${whole(value, PAGE)}`],
  ['offset', (value: string) => `_cnd[limit]=${whole(value, 0)},${PAGE}`],
  ['page', (value: string) => `_cnd[limit]=${Math.max(0, whole(value, 1) - 1) * PAGE},${PAGE}`],
  ['sort', order],
  ['filter', condition],
  ['cnd', condition],
  ['q', search],
  ['search', search],
  ['expand', (value: string) => `include=${value}`],
]);

/** `page[number]` and `_page` mean the same as `page`. */
const habitHint = (key: string, value: string): string | undefined =>
  HABITS.get(/^[_$]?([a-z]{1,9})(?:\[[^\]]*\])*$/.exec(key)?.[1] ?? '')?.(value);
