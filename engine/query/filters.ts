/** The filters of a list: `_cnd[field][operator]=value`, `_cnd[$any][0][field]=value`, `_cnd[set][$some][0][field]=value`. */
import { GROUPS, MAX_GROUP_DEPTH } from '../descriptor/conditions.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { listed, MAX_IN_VALUES, parseTruth, patternExcess } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonValue } from '../json/json.ts';
import type { Identifier } from '../model/identifier.ts';
import type { RecordType } from '../model/model.ts';
import { didYouMean, nearest } from '../names.ts';
import type { Filter, Path, QueryReading, SetFilter, SetPath } from './list-query.ts';
import { valueAt } from '../model/filters.ts';
import { countOperators, type Operator, operators, operatorsByName } from './operators.ts';
import {
  type Report,
  reportOn,
  didYouMeanHint,
  type Operand,
  type Parameter,
  quote,
  textArray,
  wireArray,
} from './parameters.ts';
import { type PathStart, ownPath, resolveSubject } from './paths.ts';

export const COUNT = '$count';
export const QUANTIFIERS: ReadonlyMap<string, SetFilter['kind']> = new Map([
  ['$some', 'some'],
  ['$none', 'no'],
  ['$every', 'every'],
]);
const SET_WORDS = [...QUANTIFIERS.keys(), COUNT];

export interface FilterReading extends Pick<QueryReading, 'filters' | 'names' | 'faults' | 'written'> {
  readonly limits: Omit<QueryReading['limits'], 'maxIncludes'>;
}

export function resolveFilters(reading: FilterReading): readonly Filter[] {
  const { filters: parameters, names, faults, limits } = reading;
  const [first] = parameters;
  if (!first) return [];
  const reader = new FilterReader(reading);
  const all = reader.conditions({ parameters, at: 0, names, followed: 0, groups: 0 });
  if (reader.count > limits.maxFilters)
    reportOn(faults, first.key)('too-many', `A list can have at most ${limits.maxFilters} filters`);
  return all;
}

/** Parameters whose steps are parsed up to `at`, and the records that they filter. */
interface Unread extends PathStart {
  readonly parameters: readonly Parameter[];
  readonly at: number;
  readonly groups: number;
}

/** The left operand: a value, or the number of records of a set. */
type Compared = Path | SetPath;

const fieldOf = (compared: Compared): Path['field'] => ('set' in compared ? undefined : compared.field);
/** Sets are compared by their number of records. */
const COUNTED = { type: integer, constraints: {}, examples: [] };
const comparedAs = (compared: Compared) => ('set' in compared ? COUNTED : valueAt(compared));

class FilterReader {
  readonly #reading: FilterReading;
  count = 0;

  constructor(reading: FilterReading) {
    this.#reading = reading;
  }

  /** Merges parameters of the same name and operator (or quantifier) into one condition. */
  conditions(unread: Unread): readonly Filter[] {
    const { parameters, at } = unread;
    const sameCondition = Map.groupBy(parameters, ({ steps = [] }) =>
      steps.slice(at, steps[at]?.startsWith('$') ? at + 1 : at + 2).join(']['),
    );
    return [...sameCondition.values()].flatMap((same) => this.#condition({ ...unread, parameters: same }) ?? []);
  }

  #condition(unread: Unread): readonly Filter[] | undefined {
    const { parameters, at } = unread;
    const report = this.#report(parameters);
    const [name = '', word = ''] = parameters[0]?.steps?.slice(at) ?? [];
    if (name === '') return report('malformed-filter', 'A condition must follow: [field] or [field][operator]');
    if (name.startsWith('$')) return this.#group(name, unread);
    const others = at === 0 ? ['limit', 'orderBy', ...GROUPS.keys()] : GROUPS.keys();
    const subject = resolveSubject(unread, name, report, others);
    if (!subject) return undefined;
    const { through, end, reached } = subject;
    const found =
      'set' in end
        ? this.#set(end, word, { ...unread, ...reached, at: at + 2 })
        : this.#comparison(end, parameters, at + 1);
    if (!found || found.length === 0) return undefined;
    return through.reduceRight<readonly Filter[]>((conditions, path) => [{ kind: 'some', path, conditions }], found);
  }

  #group(name: string, unread: Unread): readonly Filter[] | undefined {
    const report = this.#report(unread.parameters);
    const kind = GROUPS.get(name);
    if (!kind)
      return report('unknown-group', `${quote(name)} is not a group; there are ${[...GROUPS.keys()].join(', ')}`);
    if (unread.groups === MAX_GROUP_DEPTH)
      return report('too-deep', `Groups can be nested ${MAX_GROUP_DEPTH} deep at most`);
    const items = this.#items({ ...unread, at: unread.at + 1, groups: unread.groups + 1 }, true);
    return items && [{ kind, items }];
  }

  /** The conditions of each item, such as `[0][name]=x&[0][code]=y`. Without indices, all form one item or (`isOneEach`) one each. */
  #items(unread: Unread, isOneEach = false): readonly (readonly Filter[])[] | undefined {
    const { parameters, at } = unread;
    const array = wireArray(parameters, at, this.#report(parameters));
    if (array?.form === 'plain') {
      const conditions = this.conditions(unread);
      return isOneEach ? conditions.map((one) => [one]) : [conditions];
    }
    return (
      array && [...array.items.values()].map((item) => this.conditions({ ...unread, parameters: item, at: at + 1 }))
    );
  }

  #set(path: SetPath, word: string, unread: Unread): readonly Filter[] | undefined {
    const { parameters, at } = unread;
    const kind = QUANTIFIERS.get(word);
    if (kind) return this.#items(unread)?.map((conditions) => ({ kind, path, conditions }));
    if (word === COUNT) {
      const byOperator = Map.groupBy(parameters, ({ steps = [] }) => steps[at] ?? '');
      return [...byOperator.values()].flatMap((same) => this.#comparison(path, same, at) ?? []);
    }
    const message = `"${path.name}" leads to many records; one of ${SET_WORDS.join(', ')} must follow, such as ${this.#reading.written([path.name, COUNT, 'gte'], '1')}`;
    return this.#report(parameters)('to-many', message, () =>
      this.#suggestion(word, SET_WORDS, path.set.target, path.name),
    );
  }

  #comparison(path: Compared, parameters: readonly Parameter[], at: number): readonly Filter[] | undefined {
    this.count += 1;
    const { maxFilters, maxIdentifiers = MAX_IN_VALUES } = this.#reading.limits;
    if (this.count > maxFilters) return undefined;
    const report = this.#report(parameters);
    const operator = this.#operator(path, parameters[0]?.steps?.[at] ?? operators.eq.name, report);
    if (!operator) return undefined;
    const field = fieldOf(path);
    const isOwnIdentifier = !('set' in path) && !field && path.relations.length === 0;
    const most = isOwnIdentifier ? maxIdentifiers : MAX_IN_VALUES;
    const value = this.#operand(operator, parameters, at + 1, path, most);
    if (value === undefined) return undefined;
    const excess = operator.name === 'like' ? patternExcess(String(value)) : undefined;
    if (excess !== undefined) return report('too-many', excess);
    if (Array.isArray(value) && value.length > most)
      return report('too-many', `A list of values can have at most ${most} values`);
    const compared = { operator: operator.name, value: field?.caseless ? foldedValue(value) : value };
    return ['set' in path ? { kind: 'count', path, ...compared } : { kind: 'value', path, ...compared }];
  }

  #operator(path: Compared, text: string, report: Report): Operator | undefined {
    const field = fieldOf(path);
    const { type } = comparedAs(path);
    const known = 'set' in path ? countOperators : type.operators;
    if (known.length === 0) return report('not-filterable', `Lists cannot be filtered by fields of type ${type.name}`);
    const operator = operatorsByName.get(text);
    if (operator && known.includes(operator.name)) return operator;
    const record = field || 'set' in path ? undefined : path.relations.at(-1);
    const message = `${quote(text)} is not an operator of "${this.#nameOf(path)}" (type ${type.name}), which has ${known.join(', ')}`;
    const names = path.relations.map(({ name }) => name).join('.');
    return report('unknown-operator', message, () => this.#suggestion(text, known, record?.target, names));
  }

  /** `_cnd[author.name]` for `_cnd[author][name]`, or the most similar known word. */
  #suggestion(word: string, known: readonly string[], type: RecordType | undefined, path: string): string {
    const members = type ? [type.identifier.name, ...type.fields.keys(), ...type.relations.keys()] : [];
    const meant = nearest(word, [...members, ...known]);
    if (meant === undefined || !members.includes(meant)) return didYouMean(word, known);
    return didYouMeanHint(this.#reading.written([`${path}.${meant}`]));
  }

  #operand(
    { operand }: Operator,
    parameters: readonly Parameter[],
    at: number,
    path: Compared,
    most: number,
  ): JsonValue | undefined {
    const report = this.#report(parameters);
    const [{ steps = [], ...given } = { value: '' }, ...others] = parameters;
    if (operand === 'values') {
      const items = textArray(parameters, at, report, isJoined(path));
      const texts = items && [...items.values()].slice(0, most + 1);
      const values = texts?.flatMap((one) => this.#parse(path, one, steps, at, report) ?? []);
      return values?.length === texts?.length ? values : undefined;
    }
    if (others.length > 0)
      return report('repeated', `The key is given twice; to match one of several values, use [${operators.in.name}]`);
    if (steps.length > at) return report('malformed-filter', 'Nothing can follow the operator of a filter');
    if (operand === 'value') return this.#parse(path, given, steps, at, report);
    return parseTruth(given.value) ?? report('invalid-value', `${shown(path, given)} is not true or false`);
  }

  #parse(path: Compared, operand: Operand, steps: readonly string[], at: number, report: Report) {
    const { value: text, read } = operand;
    const field = fieldOf(path);
    const shape = comparedAs(path);
    const { type } = shape;
    const operator = steps[at - 1] ?? operators.eq.name;
    const { written } = this.#reading;
    const before = steps.slice(0, at - 1);
    const values = field && EXACT.has(operator) ? listed(field) : undefined;
    const value = read ? read(type, field) : type.parse(text);
    const folded = (one: JsonValue): JsonValue => (field?.caseless ? foldedValue(one) : one);
    if (value !== undefined && (values?.map(folded).includes(folded(value)) ?? true)) {
      if (text !== NULL || steps.length >= at || values || !field?.nullable) return value;
      const message = `for records without a value use ${written([...before, NULL], 'true')}, for this text ${written([...before, operators.eq.name], NULL)}`;
      return report('invalid-value', `${quote(text)} may stand for a text or for none: ${message}`);
    }
    const canBeNull = !('set' in path) && (text === '' || text.toLowerCase() === NULL);
    const [found, flag] = operator === operators.ne.name ? ['with', false] : ['without', true];
    const hint = canBeNull ? `; to find records ${found} a value, use ${written([...before, NULL], String(flag))}` : '';
    const isPlus = value === undefined && text.includes(' ') && type.parse(text.replaceAll(' ', '+')) !== undefined;
    const sign = isPlus ? '; a + in a URL is written %2B' : '';
    const expected = type.expected(shape);
    const message = `${shown(path, operand)} is not a valid value of "${this.#nameOf(path)}"; expected ${expected}${hint}${sign}`;
    return report('invalid-value', message, () =>
      values && !canBeNull && operand.shown === undefined && !field?.sensitive
        ? didYouMean(text, values.map(String))
        : '',
    );
  }

  #nameOf = (compared: Compared): string =>
    'set' in compared ? this.#reading.written([compared.name, COUNT]) : compared.name;

  #report = ([parameter]: readonly Parameter[]): Report => reportOn(this.#reading.faults, parameter?.key ?? '_cnd');
}

/** Commas separate values only if no value contains one. */
function isJoined(path: Compared): boolean {
  const shape = comparedAs(path);
  return !shape.type.isText || (listed(shape)?.every((value) => !String(value).includes(',')) ?? false);
}

/** Hides sensitive values, since clients and proxies log problems. */
const shown = (path: Compared, { value, shown: name = quote(value) }: Operand): string =>
  fieldOf(path)?.sensitive ? 'The given value' : name;

const EXACT: ReadonlySet<string> = new Set([operators.eq.name, operators.ne.name, operators.in.name]);

const NULL = 'null';

export const identifiedBy = (type: RecordType, identifiers: readonly Identifier[]): Filter => ({
  kind: 'value',
  path: ownPath(type, undefined),
  operator: 'in',
  value: identifiers,
});
