/** What clients of other interfaces write out of habit, and what that is here, with their own value in it. */
import type { RecordType } from '../model/model.ts';
import { shortened } from '../names.ts';
import { operatorsByName } from './operators.ts';
import type { Parameter } from './parameters.ts';

/** A parameter that is not known here. */
interface Habitual {
  readonly key: string;
  readonly value: string;
  readonly type: RecordType;
  /** All parameters of the request. */
  readonly all: readonly Parameter[];
}

interface Habit {
  readonly key: RegExp;
  /** undefined if the value does not fit. */
  cure(habitual: Habitual): string | undefined;
}

const SIZE = /^[_$]?(?:limit|take|top|first|rows|size|count|per_?page|page_?size|page\[size\])$/i;

/** Characters of a key or a value that are looked at. */
const LONGEST = 200;

/** Keys that are the name of something here are looked up first. */
const HABITS: readonly Habit[] = [
  { key: SIZE, cure: ({ value }) => pageHint(0, Number(value || NaN)) },
  { key: /^[_$]?page(?:\[number\])?$/i, cure: pageNumberHint },
  { key: /^[_$]?(?:offset|skip|start|from)$/i, cure: ({ value, all }) => pageHint(Number(value || NaN), sizeIn(all)) },
  { key: /^[_$]?(?:sort|order)(?:_?by|ing)?(?:\[\])?$/i, cure: ({ value }) => orderHint(value) },
  { key: /^[_$]?(?:cnd|filters?|where|q|query|search)$/i, cure: filterHint },
  { key: /^[_$]?(?:select|columns|only|attributes)$/i, cure: ({ value }) => `fields=${value}` },
  { key: /^[_$]?(?:expand|embed|populate|with|join|relations)$/i, cure: ({ value }) => `include=${value}` },
];

/** What the client may have meant by a parameter that is not known, such as `_cnd[limit]=0,20` for `limit=20`. */
export function habitHint(parameter: Habitual): string | undefined {
  if (parameter.key.length > LONGEST) return undefined;
  const habitual = { ...parameter, value: parameter.value.slice(0, LONGEST) };
  return comparisonHint(habitual) ?? HABITS.find(({ key }) => key.test(habitual.key))?.cure(habitual);
}

/** `title=x`, `filter[title]=x`, `price[gte]=5`, `price__gte=5` or `price_gte=5`. */
const COMPARISON = /^(?:(?:filters?|where)\[)?(?<name>[^[\]]+?)\]?(?:(?:\[\$?|__|_|\.)(?<operator>[a-z]+)\]?)?$/;

function comparisonHint({ key, value, type }: Habitual): string | undefined {
  if (isCondition(type, key)) return condition(type, key, value);
  const { name = '', operator = 'eq' } = COMPARISON.exec(key)?.groups ?? {};
  return isCondition(type, name) && operatorsByName.has(operator) ? condition(type, name, value, operator) : undefined;
}

const isCondition = ({ identifier, fields, relations }: RecordType, name: string): boolean =>
  name === identifier.name || fields.has(name) || relations.get(name)?.toMany === false;

/** Clients and proxies log problems: what a sensitive field is compared with is left out. */
const shown = ({ fields }: Pick<RecordType, 'fields'>, name: string, value: string): string =>
  fields.get(name)?.sensitive ? '…' : value;

const condition = (type: RecordType, name: string, value: string, operator = 'eq'): string =>
  operator === 'eq' && value === 'null'
    ? `_cnd[${name}][null]=true`
    : `_cnd[${name}]${operator === 'eq' ? '' : `[${operator}]`}=${shown(type, name, value)}`;

/** `_cnd={"title":"x"}`, `filter=title:x` and `q=x`. */
function filterHint({ value, type }: Habitual): string | undefined {
  const [, name = '', operand = ''] =
    /^[\s{["']*([^\s{["':=]+)["']?\s*(?:[:=]+|eq\b)\s*["']?([^"'}\]]*)/.exec(value) ?? [];
  if (isCondition(type, name)) return condition(type, name, operand);
  const [first = type.identifier.name] = [...type.fields.values()].flatMap(({ name: own, type: { operators } }) =>
    operators.length > 0 ? own : [],
  );
  const hidesSome = [...type.fields.values()].some(({ sensitive }) => sensitive);
  return `_cnd[${first}]=${hidesSome || value.startsWith('{') ? '…' : value}`;
}

/** Records of a page whose size the client does not say. */
const USUAL_SIZE = 20;

const pageHint = (offset: number, size: number): string | undefined =>
  [offset, size].every((number) => Number.isSafeInteger(number) && number >= 0)
    ? `_cnd[limit]=${offset},${size}`
    : undefined;

const sizeIn = (all: readonly Parameter[]): number => {
  const size = Number(all.find(({ key }) => SIZE.test(key))?.value || NaN);
  return Number.isSafeInteger(size) ? size : USUAL_SIZE;
};

/** The first page is 1. */
function pageNumberHint({ value, all }: Habitual): string | undefined {
  const size = sizeIn(all);
  return pageHint(Math.max(0, Number(value || NaN) - 1) * size, size);
}

const DIRECTION = /^(?<name>.+?)(?:[:.|\s]+(?<direction>asc|desc|ascending|descending))?$/i;

/** `-position`, `position:desc`, `position desc` and `["position","DESC"]`; undefined if the text is as it should be. */
export function orderHint(text: string, own = false): string | undefined {
  const terms = text
    .slice(0, LONGEST)
    .replace(/[[\]{}"']/g, '')
    .split(',')
    .map((term) => term.trim());
  const cured = terms.map((term) => {
    const [, sign = '', rest = ''] = /^([-+]?)(.*)$/s.exec(term) ?? [];
    const { name = rest, direction = '' } = DIRECTION.exec(rest)?.groups ?? {};
    return sign === '-' || /^desc/i.test(direction) ? `${name},desc` : name;
  });
  const joined = cured.join(',');
  return joined === '' || (own && joined === text) ? undefined : `_cnd[orderBy]=${joined}`;
}

/** `_cnd[author][name]=x` for what is behind a relation, which is `_cnd[author.name]=x`. */
export function pathHint(
  { fields, relations, identifier }: RecordType,
  name: string,
  { key, value }: Pick<Parameter, 'key' | 'value'>,
): string | undefined {
  if (!fields.has(name) && !relations.has(name) && name !== identifier.name) return undefined;
  const place = key.indexOf(`][${name}]`);
  return place < 0 ? undefined : `${key.slice(0, place)}.${key.slice(place + 2)}=${shown({ fields }, name, value)}`;
}

/** A condition as the client writes it. */
export const conditionAt = (steps: readonly string[]): string => `_cnd${steps.map((step) => `[${step}]`).join('')}`;

/** `_cnd[author.name]=x` for `_cnd[author][$some][0][name]=x`. `at`: the place of the `$some`. */
export function oneRecordHint(
  type: RecordType,
  { steps = [], value }: Pick<Parameter, 'steps' | 'value'>,
  at: number,
): string | undefined {
  const word = steps[at];
  const before = [...steps.slice(0, at - 1), ...(word === '$none' ? [word, '0'] : []), ...steps.slice(at - 1, at)];
  const key = conditionAt(before);
  if (word === '$count') return `${key}[null]=false`;
  const path = steps.slice(at + 1).filter((step, index) => index > 0 || !/^\d*$/.test(step));
  return pathHint(type, path[0] ?? '', { key: conditionAt([...before, ...path]), value });
}

const MAX_HINT = 100;

/** The end of a message. */
export const didYouMeanHint = (hint: string | undefined): string =>
  hint === undefined ? '' : `; did you mean "${shortened(hint, MAX_HINT)}"?`;
