/**
 * The filters of a list: `_cnd[field]=value`, `_cnd[field][operator]=value`, the groups `_cnd[$any][0][field]=value`, and
 * conditions on sets, `_cnd[relation][$some][0][field]=value`.
 */
import { GROUPS, MAX_GROUPS } from '../descriptor/conditions.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { MAX_IN_VALUES, type OperatorName, parseTruth, type Shape } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonValue } from '../json.ts';
import { didYouMean } from '../names.ts';
import type { RecordType } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import { didYouMeanHint, pathHint } from './hints.ts';
import { type Complain, complainAbout, type Parameter, quote } from './parameters.ts';
import type { Filter, Group, Path, QueryLimits, SetFilter, SetPath } from './list-query.ts';
import { type Operator, operators, operatorsByName } from './operators.ts';
import { type FilterPlace, insideSet, ownPath, type PathNames, resolveSubject } from './paths.ts';
import { itemGroups, type ItemGroups, splitAtCommas, wireArray } from './wire-arrays.ts';

const NO_FILTERS: readonly Filter[] = Object.freeze([]);
/** Suggestions for a misspelled field besides fields. */
const OTHER_CONDITIONS = ['limit', 'orderBy'];
const NO_CONSTRAINTS: Shape = { constraints: {}, examples: [] };

const COUNT = '$count';
const QUANTIFIERS: ReadonlyMap<string, SetFilter['kind']> = new Map([
  ['$some', 'some'],
  ['$none', 'no'],
  ['$every', 'every'],
]);

const NO_PARAMETER = { key: '', value: '' };

/** One request's filters while they are read. */
interface Reading {
  readonly faults: Fault[];
  readonly maxFilters: number;
  /** How many filters were read so far. */
  read: number;
}

/** Parameters whose first `at` steps have been read. */
interface Unread {
  readonly parameters: readonly Parameter[];
  readonly at: number;
}

interface ReadingPlace extends FilterPlace {
  /** How many groups it is in. */
  readonly groups: number;
}

export function resolveFilters(
  parameters: readonly Parameter[],
  names: PathNames,
  faults: Fault[],
  { maxFilters }: QueryLimits,
): readonly Filter[] {
  const [first] = parameters;
  if (!first) return NO_FILTERS;
  const reading = { faults, maxFilters, read: 0 };
  const all = conditionsOf({ parameters, at: 0 }, { names, followed: 0, groups: 0 }, reading);
  if (reading.read > maxFilters)
    complainAbout(faults, first.key)('too-many', `A list can have at most ${maxFilters} filters`);
  return all;
}

/** The parameters of each condition: they have the same name, and the same operator or quantifier. */
function conditionsOf({ parameters, at }: Unread, place: ReadingPlace, reading: Reading): readonly Filter[] {
  const together = Map.groupBy(parameters, ({ steps = [] }) =>
    steps.slice(at, steps[at]?.startsWith('$') ? at + 1 : at + 2).join(']['),
  );
  return [...together.values()].flatMap((same) => conditionOf({ parameters: same, at }, place, reading) ?? []);
}

function conditionOf({ parameters, at }: Unread, place: ReadingPlace, reading: Reading): readonly Filter[] | undefined {
  const [{ key = '', steps = [] } = {}] = parameters;
  const complain = complainAbout(reading.faults, key);
  const [name, word = ''] = steps.slice(at);
  const inside = { parameters, at: at + 1 };
  if (name === undefined) return complain('malformed-filter', 'A condition must follow: [field] or [field][operator]');
  if (name.startsWith('$')) return groupOf(name, inside, place, reading, complain);
  const subject = resolveSubject(place, name, complain, at === 0 ? OTHER_CONDITIONS : []);
  if (!subject) return undefined;
  const { through, set, value, followed } = subject;
  const found = set
    ? setConditions(set, word, { parameters, at: at + 2 }, { ...place, ...insideSet(set, followed) }, reading, complain)
    : value && filterOf(value, inside, reading, complain);
  return found && found.length > 0 ? throughSets(through, found) : undefined;
}

/** The conditions hold for some record of each set. */
const throughSets = (through: readonly SetPath[], conditions: readonly Filter[]): readonly Filter[] =>
  through.reduceRight<readonly Filter[]>((inner, path) => [{ kind: 'some', path, conditions: inner }], conditions);

function groupOf(
  name: string,
  inside: Unread,
  place: ReadingPlace,
  reading: Reading,
  complain: Complain,
): readonly Filter[] | undefined {
  const kind = GROUPS.get(name);
  const known = [...GROUPS.keys()];
  if (!kind)
    return complain('unknown-group', `${quote(name)} is not a group; there are ${known.join(', ')}`, () =>
      didYouMean(name, known),
    );
  if (place.groups === MAX_GROUPS) return complain('too-deep', `Groups can be nested ${MAX_GROUPS} deep at most`);
  const found = itemGroups(inside.parameters, inside.at, complain);
  const within = { ...place, groups: place.groups + 1 };
  return found && [{ kind, items: itemsOf(found, within, reading) }];
}

/** Without indices, each condition is an item. */
const itemsOf = ({ indexed, at, items }: ItemGroups, place: ReadingPlace, reading: Reading): Group['items'] =>
  items.flatMap((parameters) => {
    const conditions = conditionsOf({ parameters, at }, place, reading);
    return indexed ? [conditions] : conditions.map((condition) => [condition]);
  });

/** Each item is about a record of its own; without indices, all conditions are about one. */
function setConditions(
  path: SetPath,
  word: string,
  rest: Unread,
  place: ReadingPlace,
  reading: Reading,
  complain: Complain,
): readonly Filter[] | undefined {
  if (word === COUNT) return countOf(path, rest, reading, complain);
  const kind = QUANTIFIERS.get(word);
  if (!kind) {
    const known = [...QUANTIFIERS.keys(), COUNT];
    const message = `"${path.name}" leads to many records; one of ${known.join(', ')} must follow, such as _cnd[${path.name}][$count][gte]=1`;
    return complain('to-many', message, () => {
      const hint = pathHint(path.set.target, word, rest.parameters[0] ?? NO_PARAMETER);
      return hint === undefined && word !== '' ? didYouMean(word, known) : didYouMeanHint(hint);
    });
  }
  const found = itemGroups(rest.parameters, rest.at, complain);
  return found?.items.map((parameters) => ({
    kind,
    path,
    conditions: conditionsOf({ parameters, at: found.at }, place, reading),
  }));
}

/** An operator follows, or nothing, which means `eq`. */
interface Compared {
  readonly operator: OperatorName;
  readonly value: JsonValue;
}

function filterOf(path: Path, rest: Unread, reading: Reading, complain: Complain): readonly Filter[] | undefined {
  const compared = comparedWith(path, rest, reading, complain);
  return compared && [{ kind: 'value', path, ...compared }];
}

function countOf(path: SetPath, rest: Unread, reading: Reading, complain: Complain): readonly Filter[] | undefined {
  const number = { name: `${path.name}][${COUNT}`, relations: [], type: path.set.target, field: undefined };
  const all = Map.groupBy(rest.parameters, ({ steps = [] }) => steps[rest.at] ?? '');
  return [...all.values()].flatMap((parameters) => {
    const compared = comparedWith(number, { parameters, at: rest.at }, reading, complain);
    return compared ? [{ kind: 'count', path, ...compared }] : [];
  });
}

function comparedWith(
  path: Path,
  { parameters, at }: Unread,
  reading: Reading,
  complain: Complain,
): Compared | undefined {
  reading.read += 1;
  if (reading.read > reading.maxFilters) return undefined;
  const operator = resolveOperator(path, parameters[0]?.steps?.[at] ?? 'eq', parameters[0], complain);
  if (!operator) return undefined;
  const value = READERS[operator.wants]({ parameters, at: at + 1 }, path, complain);
  const excess = value !== undefined && operator.excess(value);
  if (excess) return complain('too-many', excess);
  // Once for the request: what compares it takes it as it is.
  const operand = value !== undefined && path.field?.caseless ? foldedValue(value) : value;
  return operand === undefined ? undefined : { operator: operator.name, value: operand };
}

function resolveOperator(
  { name, field, type: related }: Path,
  text: string,
  parameter = NO_PARAMETER,
  complain: Complain,
): Operator | undefined {
  const { operators: known, name: type } = field?.type ?? integer;
  if (known.length === 0) return complain('not-filterable', `Lists cannot be filtered by fields of type ${type}`);
  const operator = operatorsByName.get(text);
  if (operator && known.includes(operator.name)) return operator;
  const message = `${quote(text)} is not an operator of "${name}" (type ${type}), which has ${known.join(', ')}`;
  return complain('unknown-operator', message, () => {
    const hint = field ? undefined : pathHint(related, text, parameter);
    return hint === undefined ? didYouMean(text, known) : didYouMeanHint(hint);
  });
}

type ParameterReader = (rest: Unread, path: Path, complain: Complain) => JsonValue | undefined;

/** Reads the operand of each kind of operator. */
const READERS: Readonly<Record<Operator['wants'], ParameterReader>> = {
  value: (rest, path, complain) => {
    const text = single(rest, complain);
    return text === undefined ? undefined : parse(path, text, complain);
  },
  values: ({ parameters, at }, path, complain) => {
    const { hasNoCommas } = path.field?.type ?? integer;
    const items = wireArray(hasNoCommas ? splitAtCommas(parameters, at) : parameters, at, complain)?.items;
    // One more than there may be tells that there are too many; the others are not looked at.
    const texts = items?.slice(0, MAX_IN_VALUES + 1).map(({ parameter }) => parameter.value);
    const values = texts?.flatMap((text) => parse(path, text, complain) ?? []);
    return values?.length === texts?.length ? values : undefined;
  },
  flag: (rest, path, complain) => {
    const text = single(rest, complain);
    if (text === undefined) return undefined;
    return parseTruth(text) ?? complain('invalid-value', `${said(path, text)} is not true or false`);
  },
};

function single({ parameters: [parameter, ...others], at }: Unread, complain: Complain): string | undefined {
  if (others.length > 0)
    return complain('repeated', `The key is given twice; to match one of several values, use [${operators.in.name}]`);
  if (!parameter?.steps || parameter.steps.length > at)
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

/** Finds these records. */
export const identifiedBy = (type: RecordType, identifiers: readonly number[]): Filter => ({
  kind: 'value',
  path: ownPath(type, undefined),
  operator: 'in',
  value: identifiers,
});
