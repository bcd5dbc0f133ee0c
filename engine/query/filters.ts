/** `_cnd[field]=value` and `_cnd[field][operator]=value`: the filters of a list. */
import type { Shape } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonValue } from '../json.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, type Parameter, quote } from './parameters.ts';
import type { Filter, Path, QueryLimits } from './list-query.ts';
import { type Operator, operators, operatorsByName } from './operators.ts';
import { type PathNames, resolvePath } from './paths.ts';

const NO_FILTERS: readonly Filter[] = Object.freeze([]);
/** Suggestions for a misspelled field besides fields. */
const OTHER_CONDITIONS = ['limit', 'orderBy'];
const NO_CONSTRAINTS: Shape = { constraints: {}, examples: [] };

export function resolveFilters(
  parameters: readonly Parameter[],
  names: PathNames,
  faults: Fault[],
  { maxFilters }: QueryLimits,
): readonly Filter[] {
  const [first] = parameters;
  if (!first) return NO_FILTERS;
  const groups = [...Map.groupBy(parameters, ({ steps = [] }) => steps.slice(0, 2).join(']['))];
  if (groups.length > maxFilters)
    complainAbout(faults, first.key)('too-many', `A list can have at most ${maxFilters} filters`);
  return groups.slice(0, maxFilters).flatMap(([, group]) => resolveFilter(group, names, faults) ?? []);
}

/** All parameters have the same field and operator. */
function resolveFilter(parameters: readonly Parameter[], names: PathNames, faults: Fault[]): Filter | undefined {
  const [{ key = '', steps: [name = '', operatorName = 'eq'] = [] } = {}] = parameters;
  const complain = complainAbout(faults, key);
  const path = resolvePath(names, name, complain, OTHER_CONDITIONS);
  const operator = path && resolveOperator(path, operatorName, complain);
  if (!operator) return undefined;
  const value = READERS[operator.wants](parameters, path, complain);
  const excess = value !== undefined && operator.excess(value);
  if (excess) return complain('too-many', excess);
  return value === undefined ? undefined : { path, operator: operator.name, value };
}

function resolveOperator({ name, field }: Path, text: string, complain: Complain): Operator | undefined {
  const { operators: known, name: type } = field?.type ?? integer;
  if (known.length === 0) return complain('not-filterable', `Lists cannot be filtered by fields of type ${type}`);
  const operator = operatorsByName.get(text);
  if (operator && known.includes(operator.name)) return operator;
  const message = `${quote(text)} is not an operator of "${name}" (type ${type}), which has ${known.join(', ')}`;
  return complain('unknown-operator', message, () => didYouMean(text, known));
}

type ParameterReader = (parameters: readonly Parameter[], path: Path, complain: Complain) => JsonValue | undefined;

/** Reads the operand of each kind of operator. */
const READERS: Readonly<Record<Operator['wants'], ParameterReader>> = {
  value: (parameters, path, complain) => {
    const text = single(parameters, complain);
    return text === undefined ? undefined : parse(path, text, complain);
  },
  values: (parameters, path, complain) => {
    const texts = wireArray(parameters, 2, complain)?.items.map(({ parameter }) => parameter.value);
    const values = texts?.flatMap((text) => parse(path, text, complain) ?? []);
    return values?.length === texts?.length ? values : undefined;
  },
  flag: (parameters, path, complain) => {
    const text = single(parameters, complain);
    if (text === 'true' || text === 'false') return text === 'true';
    return text === undefined ? undefined : complain('invalid-value', `${said(path, text)} is not true or false`);
  },
};

function single([parameter, ...others]: readonly Parameter[], complain: Complain): string | undefined {
  if (others.length > 0)
    return complain('repeated', `The key is given twice; to match one of several values, use [${operators.in.name}]`);
  if (!parameter?.steps || parameter.steps.length > 2)
    return complain('malformed-filter', 'Nothing can follow the operator of a filter');
  return parameter.value;
}

/** Hides sensitive values, since clients and proxies log problems. */
const said = ({ field }: Path, text: string): string => (field?.sensitive ? 'The given value' : quote(text));

function parse(path: Path, text: string, complain: Complain): JsonValue | undefined {
  const { name, field } = path;
  const { type, shape } = field ? { type: field.type, shape: field } : { type: integer, shape: NO_CONSTRAINTS };
  const value = type.parse(text);
  if (value !== undefined) return value;
  const hint = text === '' ? `; to find records without a value, use _cnd[${name}][${operators.null.name}]=true` : '';
  return complain(
    'invalid-value',
    `${said(path, text)} is not a valid value of "${name}"; expected ${type.expected(shape)}${hint}`,
  );
}

// Arrays in a query string: a repeated key, `[]` after it, or indices in any order.

interface WireArray {
  /** Whether the client wrote indices. */
  readonly indexed: boolean;
  /** Sorted by index. */
  readonly items: readonly WireItem[];
}

export interface WireItem {
  readonly index: number;
  readonly parameter: Parameter;
}

type Form = 'repeated' | 'brackets' | 'indices';
const FORMS = 'Repeat the key, or append [] to each, or [0], [1] …';
const INDEX = /^(?:0|[1-9]\d{0,5})$/;

/** How one item is written after the first `depth` steps of its key; undefined if it is not an item of an array. */
function formOf({ steps = [] }: Parameter, depth: number): Form | undefined {
  if (steps.length === depth) return 'repeated';
  const step = steps[depth] ?? '';
  if (steps.length > depth + 1) return undefined;
  return step === '' ? 'brackets' : INDEX.test(step) ? 'indices' : undefined;
}

export function wireArray(parameters: readonly Parameter[], depth: number, complain: Complain): WireArray | undefined {
  const forms = new Set<Form>();
  for (const parameter of parameters) {
    const form = formOf(parameter, depth);
    if (!form) return complain('malformed-array', `${quote(parameter.key)} is not an item of a list. ${FORMS}`);
    forms.add(form);
  }
  if (forms.size > 1) return complain('mixed-forms', `Write all items of a list in the same way. ${FORMS}`);
  return forms.has('indices')
    ? byIndex(parameters, depth, complain)
    : { indexed: false, items: inSequence(parameters) };
}

const inSequence = (parameters: readonly Parameter[]): readonly WireItem[] =>
  parameters.map((parameter, index) => ({ index, parameter }));

function byIndex(parameters: readonly Parameter[], depth: number, complain: Complain): WireArray | undefined {
  const items = new Map<number, Parameter>();
  for (const parameter of parameters) {
    const index = Number(parameter.steps?.[depth]);
    if (items.has(index)) return complain('repeated', `${quote(parameter.key)} is given twice`);
    items.set(index, parameter);
  }
  const sorted = [...items].toSorted(([a], [b]) => a - b);
  return { indexed: true, items: sorted.map(([index, parameter]) => ({ index, parameter })) };
}
