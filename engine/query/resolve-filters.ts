/** `_cnd[field]=value` and `_cnd[field][operator]=value`: what the records of a list have in common. */
import type { Shape } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonValue } from '../json.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, quote } from './faults.ts';
import type { Filter, Path } from './list-query.ts';
import { type Operator, operators, operatorsByName } from './operators.ts';
import type { QueryLimits } from './limits.ts';
import { groupParameters, type Parameter } from './parameters.ts';
import { type Names, resolvePath } from './resolve-path.ts';
import { wireArray } from './wire-array.ts';

const NO_FILTERS: readonly Filter[] = Object.freeze([]);
/** What a misspelt field may have been meant to be. */
const OTHER_CONDITIONS = ['limit', 'orderBy'];
const NO_CONSTRAINTS: Shape = { constraints: {}, examples: [] };

export function resolveFilters(
  parameters: readonly Parameter[],
  names: Names,
  faults: Fault[],
  { maxFilters }: QueryLimits,
): readonly Filter[] {
  const [first] = parameters;
  if (!first) return NO_FILTERS;
  const groups = [...groupParameters(parameters, ({ steps = [] }) => steps.slice(0, 2).join(']['))];
  if (groups.length > maxFilters)
    complainAbout(faults, first.key)('too-many', `A list has at most ${maxFilters} filters`);
  return groups.slice(0, maxFilters).flatMap(([, group]) => resolveFilter(group, names, faults) ?? []);
}

/** The parameters have the field and the operator in common. */
function resolveFilter(parameters: readonly Parameter[], names: Names, faults: Fault[]): Filter | undefined {
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
  if (known.length === 0) return complain('not-filterable', `No list is filtered by a field of type ${type}`);
  const operator = operatorsByName.get(text);
  if (operator && known.includes(operator.name)) return operator;
  const message = `${quote(text)} is no operator of "${name}" (type ${type}), which has ${known.join(', ')}`;
  return complain('unknown-operator', message, () => didYouMean(text, known));
}

type Reader = (parameters: readonly Parameter[], path: Path, complain: Complain) => JsonValue | undefined;

/** What each operator wants, read from the parameters of a filter. */
const READERS: Readonly<Record<Operator['wants'], Reader>> = {
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
    return complain('repeated', `The key is given twice; for one of several values take [${operators.in.name}]`);
  if (!parameter?.steps || parameter.steps.length > 2)
    return complain('malformed-filter', 'Nothing can follow the operator of a filter');
  return parameter.value;
}

/** Problems are logged by clients and proxies. */
const said = ({ field }: Path, text: string): string => (field?.sensitive ? 'What was given' : quote(text));

function parse(path: Path, text: string, complain: Complain): JsonValue | undefined {
  const { name, field } = path;
  const { type, shape } = field ? { type: field.type, shape: field } : { type: integer, shape: NO_CONSTRAINTS };
  const value = type.parse(text);
  if (value !== undefined) return value;
  const hint = text === '' ? `; records without a value are found by _cnd[${name}][${operators.null.name}]=true` : '';
  return complain(
    'invalid-value',
    `${said(path, text)} cannot be a value of "${name}", expected ${type.expected(shape)}${hint}`,
  );
}
