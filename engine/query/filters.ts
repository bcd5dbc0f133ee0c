/**
 * The filters of a list: `_cnd[field]=value`, `_cnd[field][operator]=value`, the groups `_cnd[$any][0][field]=value`, and
 * conditions on sets, `_cnd[relation][$some][0][field]=value`.
 */
import { groupMeant, GROUPS, MAX_GROUP_DEPTH } from '../descriptor/conditions.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { listed, MAX_IN_VALUES, type OperatorName, parseTruth, type Shape } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonValue } from '../json/json.ts';
import type { Field, RecordType } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import type { Filter, Path, QueryLimits, SetFilter, SetPath } from './list-query.ts';
import { countOperators, type Operator, operators, operatorsByName } from './operators.ts';
import {
  type Complain,
  complainAbout,
  didYouMeanHint,
  type Parameter,
  quote,
  textArray,
  wireArray,
} from './parameters.ts';
import { type FilterPlace, insideSet, ownPath, type PathNames, resolveSubject } from './paths.ts';

/** Words that stand in place of a field in `_cnd[…]`, outside of groups and sets. */
const OTHER_CONDITIONS = ['limit', 'orderBy'];
const NO_CONSTRAINTS: Shape = { constraints: {}, examples: [] };

const COUNT = '$count';
const QUANTIFIERS: ReadonlyMap<string, SetFilter['kind']> = new Map([
  ['$some', 'some'],
  ['$none', 'no'],
  ['$every', 'every'],
]);
const SET_WORDS = [...QUANTIFIERS.keys(), COUNT];

export function resolveFilters(
  parameters: readonly Parameter[],
  names: PathNames,
  faults: Fault[],
  limits: QueryLimits,
): readonly Filter[] {
  const [first] = parameters;
  if (!first) return [];
  const reader = new FilterReader(faults, limits);
  const all = reader.conditions({ parameters, at: 0 }, { names, followed: 0, groups: 0 });
  if (reader.count > limits.maxFilters)
    complainAbout(faults, first.key)('too-many', `A list can have at most ${limits.maxFilters} filters`);
  return all;
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

/** The left side of a comparison: the value at a path, or the number of records of a set, which is never null. */
type ComparedPath = Path & { readonly isCount?: true };

/** Reads the filters of one request. */
class FilterReader {
  readonly #faults: Fault[];
  readonly #limits: QueryLimits;
  /** How many filters were read so far. */
  count = 0;

  constructor(faults: Fault[], limits: QueryLimits) {
    this.#faults = faults;
    this.#limits = limits;
  }

  /** The parameters of one condition have the same name, and the same operator or quantifier. */
  conditions({ parameters, at }: Unread, place: ReadingPlace): readonly Filter[] {
    const together = Map.groupBy(parameters, ({ steps = [] }) =>
      steps.slice(at, steps[at]?.startsWith('$') ? at + 1 : at + 2).join(']['),
    );
    return [...together.values()].flatMap((same) => this.#condition({ parameters: same, at }, place) ?? []);
  }

  #condition({ parameters, at }: Unread, place: ReadingPlace): readonly Filter[] | undefined {
    const complain = this.#complain(parameters);
    const [name = '', word = ''] = parameters[0]?.steps?.slice(at) ?? [];
    const inside = { parameters, at: at + 1 };
    if (name === '') return complain('malformed-filter', 'A condition must follow: [field] or [field][operator]');
    if (name.startsWith('$')) return this.#group(name, inside, place);
    const subject = resolveSubject(place, name, complainOfName(name, complain), at === 0 ? OTHER_CONDITIONS : []);
    if (!subject) return undefined;
    const { through, set, value, followed } = subject;
    const found = set
      ? this.#set(set, word, { parameters, at: at + 2 }, { ...place, ...insideSet(set, place.names.rights, followed) })
      : value &&
        this.#comparison(value, place.names.rights, inside, (path, compared) => ({ kind: 'value', path, ...compared }));
    if (!found || found.length === 0) return undefined;
    // The conditions hold for some record of each set on the way.
    return through.reduceRight<readonly Filter[]>((conditions, path) => [{ kind: 'some', path, conditions }], found);
  }

  #group(name: string, inside: Unread, place: ReadingPlace): readonly Filter[] | undefined {
    const complain = this.#complain(inside.parameters);
    const kind = GROUPS.get(name);
    if (!kind)
      return complain('unknown-group', `${quote(name)} is not a group; there are ${[...GROUPS.keys()].join(', ')}`);
    if (place.groups === MAX_GROUP_DEPTH)
      return complain('too-deep', `Groups can be nested ${MAX_GROUP_DEPTH} deep at most`);
    const found = this.#items(inside, { ...place, groups: place.groups + 1 });
    // Without brackets of their own, each condition is an item.
    return found && [{ kind, items: found.isPlain ? found.items.flat().map((one) => [one]) : found.items }];
  }

  /** The conditions of each item of an array of objects: `[0][name]=x&[0][code]=y`, `[][name]=x`, or without either. */
  #items({ parameters, at }: Unread, place: ReadingPlace) {
    const array = wireArray(parameters, at, this.#complain(parameters));
    if (!array) return undefined;
    const isPlain = array.form === 'plain';
    const inside = isPlain ? at : at + 1;
    const items = array.items.map(([, item]) => this.conditions({ parameters: item, at: inside }, place));
    return { items, isPlain };
  }

  /** Each item is about a record of its own; without indices, all conditions are about one. */
  #set(path: SetPath, word: string, rest: Unread, place: ReadingPlace): readonly Filter[] | undefined {
    const kind = QUANTIFIERS.get(word);
    if (kind) return this.#items(rest, place)?.items.map((conditions) => ({ kind, path, conditions }));
    if (word === COUNT) return this.#setCount(path, place.names.rights, rest);
    const message = `"${path.name}" leads to many records; one of ${SET_WORDS.join(', ')} must follow, such as _cnd[${path.name}][$count][gte]=1`;
    return this.#complain(rest.parameters)(
      'to-many',
      message,
      () => memberHint(path.set.target, place.names.rights, path.name, word) ?? didYouMean(word, SET_WORDS),
    );
  }

  #setCount(path: SetPath, rights: Rights, { parameters, at }: Unread): readonly Filter[] {
    const name = `_cnd[${path.name}][${COUNT}]`;
    const number: ComparedPath = { name, relations: [], type: path.set.target, field: undefined, isCount: true };
    const all = Map.groupBy(parameters, ({ steps = [] }) => steps[at] ?? '');
    return [...all.values()].flatMap(
      (same) =>
        this.#comparison(number, rights, { parameters: same, at }, (_, compared) => ({
          kind: 'count',
          path,
          ...compared,
        })) ?? [],
    );
  }

  /** An operator follows, or nothing, which means `eq`. */
  #comparison(
    path: ComparedPath,
    rights: Rights,
    { parameters, at }: Unread,
    filter: (path: Path, compared: { readonly operator: OperatorName; readonly value: JsonValue }) => Filter,
  ): readonly Filter[] | undefined {
    this.count += 1;
    const { maxFilters, maxIdentifiers = MAX_IN_VALUES } = this.#limits;
    if (this.count > maxFilters) return undefined;
    const complain = this.#complain(parameters);
    const operator = resolveOperator(path, rights, parameters[0]?.steps?.[at] ?? operators.eq.name, complain);
    if (!operator) return undefined;
    const isOwnIdentifier = path.field === undefined && path.relations.length === 0 && !path.isCount;
    const most = isOwnIdentifier ? maxIdentifiers : MAX_IN_VALUES;
    const value = READERS[operator.wants]({ parameters, at: at + 1 }, path, complain, most);
    if (value === undefined) return undefined;
    const excess = operator.excess(value, most);
    if (excess) return complain('too-many', excess);
    // Once for the request: what compares it takes it as it is.
    return [filter(path, { operator: operator.name, value: path.field?.caseless ? foldedValue(value) : value })];
  }

  #complain = ([parameter]: readonly Parameter[]): Complain => complainAbout(this.#faults, parameter?.key ?? '_cnd');
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

function resolveOperator(
  { name, relations, field, type: related, isCount }: ComparedPath,
  rights: Rights,
  text: string,
  complain: Complain,
): Operator | undefined {
  const { operators: all, name: type } = field?.type ?? integer;
  const known = isCount ? countOperators : all;
  if (known.length === 0) return complain('not-filterable', `Lists cannot be filtered by fields of type ${type}`);
  const operator = operatorsByName.get(text);
  if (operator && known.includes(operator.name)) return operator;
  // The related record that the path ends at.
  const record = field ? undefined : relations.at(-1);
  if (record && SET_WORDS.includes(text))
    return complain('unknown-operator', `"${text}" is for sets, and "${record.name}" leads to one record`);
  const message = `${quote(text)} is not an operator of "${name}" (type ${type}), which has ${known.join(', ')}`;
  const way = relations.map((relation) => relation.name).join('.');
  return complain(
    'unknown-operator',
    message,
    () => (record && memberHint(related, rights, way, text)) ?? didYouMean(text, known),
  );
}

/** `_cnd[author.name]` for `_cnd[author][name]`. */
const memberHint = (type: RecordType, rights: Rights, path: string, name: string): string | undefined =>
  type.fields.has(name) || relationsFor(rights, type).has(name) || name === type.identifier.name
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

/** Commas can separate values only where no value contains one. */
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
