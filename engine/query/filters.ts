/**
 * The filters of a list: `_cnd[field]=value`, `_cnd[field][operator]=value`, the groups `_cnd[$any][0][field]=value`, and
 * conditions on sets, `_cnd[relation][$some][0][field]=value`.
 */
import { groupMeant, GROUPS, MAX_GROUP_DEPTH } from '../descriptor/conditions.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { listed, MAX_IN_VALUES, type OperatorName, parseTruth, type Shape } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonValue } from '../json.ts';
import type { Field, RecordType } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import { didYouMeanHint } from './hints.ts';
import { type Complain, complainAbout, type Parameter, quote } from './parameters.ts';
import type { Filter, Group, Path, QueryLimits, SetFilter, SetPath } from './list-query.ts';
import { countOperators, type Operator, operators, operatorsByName } from './operators.ts';
import { type FilterPlace, insideSet, ownPath, type PathNames, resolveSubject } from './paths.ts';
import { textArray, wireArray } from './wire-arrays.ts';

const NO_FILTERS: readonly Filter[] = Object.freeze([]);
/** What takes the place of a field in a condition that is not within a group or a set. */
const OTHER_CONDITIONS = ['limit', 'orderBy'];
const NO_CONSTRAINTS: Shape = { constraints: {}, examples: [] };

const COUNT = '$count';
const QUANTIFIERS: ReadonlyMap<string, SetFilter['kind']> = new Map([
  ['$some', 'some'],
  ['$none', 'no'],
  ['$every', 'every'],
]);

const NO_PARAMETER: Parameter = { key: '', steps: [], value: '' };

/** One request's filters while they are read. */
interface Reading {
  readonly faults: Fault[];
  readonly maxFilters: number;
  readonly maxIdentifiers: number;
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
  { maxFilters, maxIdentifiers = MAX_IN_VALUES }: QueryLimits,
): readonly Filter[] {
  const [first] = parameters;
  if (!first) return NO_FILTERS;
  const reading = { faults, maxFilters, maxIdentifiers, read: 0 };
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
  if (name === undefined || name === '')
    return complain('malformed-filter', 'A condition must follow: [field] or [field][operator]');
  if (name.startsWith('$')) return groupOf(name, inside, place, reading, complain);
  const subject = resolveSubject(place, name, complainOfName(name, complain), at === 0 ? OTHER_CONDITIONS : []);
  if (!subject) return undefined;
  const { through, set, value, followed } = subject;
  const found = set
    ? setConditions(set, word, { parameters, at: at + 2 }, { ...place, ...insideSet(set, followed) }, reading, complain)
    : value && filterOf(value, inside, reading, complain);
  return found && found.length > 0 ? throughSets(through, found) : undefined;
}

/** Names that are not fields may be known elsewhere. */
const complainOfName =
  (name: string, complain: Complain): Complain =>
  (code, message, suggest) => {
    if (code !== 'unknown-field') return complain(code, message, suggest);
    if (OTHER_CONDITIONS.includes(name))
      return complain(code, `${message}; _cnd[${name}] stands outside of groups and sets`);
    const group = groupMeant(name);
    return complain(code, message, group === undefined ? suggest : () => didYouMeanHint(group));
  };

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
      didYouMeanHint(groupMeant(name)),
    );
  if (place.groups === MAX_GROUP_DEPTH)
    return complain('too-deep', `Groups can be nested ${MAX_GROUP_DEPTH} deep at most`);
  const found = itemsOf(inside, { ...place, groups: place.groups + 1 }, reading, complain);
  if (!found) return undefined;
  const { items, isPlain } = found;
  // Without brackets of their own, each condition is an item.
  return [{ kind, items: isPlain ? items.flat().map((condition) => [condition]) : items }];
}

/** The conditions of each item of an array of objects: `[0][name]=x&[0][code]=y`, `[][name]=x`, or without either. */
function itemsOf(
  { parameters, at }: Unread,
  place: ReadingPlace,
  reading: Reading,
  complain: Complain,
): { readonly items: Group['items']; readonly isPlain: boolean } | undefined {
  const array = wireArray(parameters, at, complain);
  if (!array) return undefined;
  const isPlain = array.form === 'plain';
  const inside = isPlain ? at : at + 1;
  const items = array.items.map(([, item]) => conditionsOf({ parameters: item, at: inside }, place, reading));
  return { items, isPlain };
}

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
    return complain('to-many', message, () => memberHint(path.set.target, path.name, word) ?? didYouMean(word, known));
  }
  const found = itemsOf(rest, place, reading, complain);
  return found?.items.map((conditions) => ({ kind, path, conditions }));
}

/** What is compared: what a path leads to, or the number of records of a set, which is never null. */
type ComparedPath = Path & { readonly isCount?: true };

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
  const name = `_cnd[${path.name}][${COUNT}]`;
  const number: ComparedPath = { name, relations: [], type: path.set.target, field: undefined, isCount: true };
  const all = Map.groupBy(rest.parameters, ({ steps = [] }) => steps[rest.at] ?? '');
  return [...all.values()].flatMap((parameters) => {
    const compared = comparedWith(number, { parameters, at: rest.at }, reading, complain);
    return compared ? [{ kind: 'count', path, ...compared }] : [];
  });
}

function comparedWith(
  path: ComparedPath,
  { parameters, at }: Unread,
  reading: Reading,
  complain: Complain,
): Compared | undefined {
  reading.read += 1;
  if (reading.read > reading.maxFilters) return undefined;
  const operator = resolveOperator(path, { parameters, at }, complain);
  if (!operator) return undefined;
  const isOwnIdentifier = path.field === undefined && path.relations.length === 0 && !path.isCount;
  const most = isOwnIdentifier ? reading.maxIdentifiers : MAX_IN_VALUES;
  const value = READERS[operator.wants]({ parameters, at: at + 1 }, path, complain, most);
  const excess = value !== undefined && operator.excess(value, most);
  if (excess) return complain('too-many', excess);
  // Once for the request: what compares it takes it as it is.
  const operand = value !== undefined && path.field?.caseless ? foldedValue(value) : value;
  return operand === undefined ? undefined : { operator: operator.name, value: operand };
}

function resolveOperator(
  { name, relations, field, type: related, isCount }: ComparedPath,
  { parameters: [parameter = NO_PARAMETER], at }: Unread,
  complain: Complain,
): Operator | undefined {
  const text = parameter.steps?.[at] ?? 'eq';
  const { operators: all, name: type } = field?.type ?? integer;
  const known = isCount ? countOperators : all;
  if (known.length === 0) return complain('not-filterable', `Lists cannot be filtered by fields of type ${type}`);
  const operator = operatorsByName.get(text);
  if (operator && known.includes(operator.name)) return operator;
  const last = relations.at(-1);
  if (last && !field && (QUANTIFIERS.has(text) || text === COUNT))
    return complain('unknown-operator', `"${text}" is for sets, and "${last.name}" leads to one record`);
  const message = `${quote(text)} is not an operator of "${name}" (type ${type}), which has ${known.join(', ')}`;
  const way = relations.map((relation) => relation.name).join('.');
  return complain('unknown-operator', message, () => {
    const hint = field || isCount || !last ? undefined : memberHint(related, way, text);
    return hint ?? didYouMean(text, known);
  });
}

/** `_cnd[author.name]` for `_cnd[author][name]`. */
const memberHint = ({ fields, relations, identifier }: RecordType, path: string, name: string): string | undefined =>
  fields.has(name) || relations.has(name) || name === identifier.name
    ? didYouMeanHint(`_cnd[${path}.${name}]`)
    : undefined;

/** `most`: values of a list. */
type ParameterReader = (rest: Unread, path: ComparedPath, complain: Complain, most: number) => JsonValue | undefined;

/** Reads the operand of each kind of operator. */
const READERS: Readonly<Record<Operator['wants'], ParameterReader>> = {
  value: (rest, path, complain) => {
    const text = single(rest, complain);
    return text === undefined ? undefined : parse(path, text, rest, complain);
  },
  values: (rest, path, complain, most) => {
    const { parameters, at } = rest;
    const items = textArray(parameters, at, complain, isJoined(path))?.items;
    // One more than there may be tells that there are too many; the others are not looked at.
    const texts = items?.slice(0, most + 1).map(({ parameter }) => parameter.value);
    const values = texts?.flatMap((text) => parse(path, text, rest, complain) ?? []);
    return values?.length === texts?.length ? values : undefined;
  },
  flag: (rest, path, complain) => {
    const text = single(rest, complain);
    if (text === undefined) return undefined;
    return parseTruth(text) ?? complain('invalid-value', `${said(path, text)} is not true or false`);
  },
};

/** Whether several values can be joined by commas: none has one in it. */
function isJoined({ field }: Path): boolean {
  if (!field) return true;
  const values = listed(field);
  return field.type.hasNoCommas ?? values?.every((value) => !String(value).includes(',')) ?? false;
}

function single({ parameters: [parameter, ...others], at }: Unread, complain: Complain): string | undefined {
  if (others.length > 0)
    return complain('repeated', `The key is given twice; to match one of several values, use [${operators.in.name}]`);
  if (!parameter?.steps || parameter.steps.length > at)
    return complain('malformed-filter', 'Nothing can follow the operator of a filter');
  return parameter.value;
}

/** Hides sensitive values, since clients and proxies log problems. */
const said = ({ field }: Path, text: string): string => (field?.sensitive ? 'The given value' : quote(text));

/** Operators whose operand is a value that a record could have. */
const EXACT: ReadonlySet<string> = new Set([operators.eq.name, operators.ne.name, operators.in.name]);

function parse(
  path: ComparedPath,
  text: string,
  { parameters, at }: Unread,
  complain: Complain,
): JsonValue | undefined {
  const { name, field, isCount } = path;
  const { type, shape } = field ? { type: field.type, shape: field } : { type: integer, shape: NO_CONSTRAINTS };
  const steps = parameters[0]?.steps ?? [];
  const operator = steps[at - 1] ?? operators.eq.name;
  const key = `_cnd${steps
    .slice(0, at - 1)
    .map((step) => `[${step}]`)
    .join('')}`;
  const values = field && EXACT.has(operator) ? listed(field) : undefined;
  const value = type.parse(text);
  if (value !== undefined && (!values || isAmong(values, value, field))) {
    if (text !== NULL || steps.length >= at || values || !field?.nullable) return value;
    const message = `for records without a value use ${key}[null]=true, for this text ${key}[eq]=${NULL}`;
    return complain('invalid-value', `${quote(text)} may stand for a text or for none: ${message}`);
  }
  const canBeNull = !isCount && (text === '' || text.toLowerCase() === NULL);
  const [found, flag] = operator === operators.ne.name ? ['with', false] : ['without', true];
  const isPlus = value === undefined && text.includes(' ') && type.parse(text.replaceAll(' ', '+')) !== undefined;
  const sign = isPlus ? '; a + in a URL is written %2B' : '';
  const hint = canBeNull ? `; to find records ${found} a value, use ${key}[${operators.null.name}]=${flag}` : '';
  const message = `${said(path, text)} is not a valid value of "${name}"; expected ${type.expected(shape)}${hint}${sign}`;
  return complain('invalid-value', message, () =>
    values && !canBeNull && !field?.sensitive ? didYouMean(text, values.map(String)) : '',
  );
}

const NULL = 'null';

const isAmong = (values: readonly JsonValue[], value: JsonValue, field: Field | undefined): boolean =>
  field?.caseless ? values.map(foldedValue).includes(foldedValue(value)) : values.includes(value);

/** Finds these records. */
export const identifiedBy = (type: RecordType, identifiers: readonly number[]): Filter => ({
  kind: 'value',
  path: ownPath(type, undefined),
  operator: 'in',
  value: identifiers,
});
