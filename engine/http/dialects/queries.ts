/** Translates query strings of json-server and ra-data-simple-rest to parameters of `/api`, and adds their paging information. */
import { COMPARISONS, type Comparison, EMBEDS, ONCE, SEARCH } from '../../descriptor/dialect-words.ts';
import { isObject, type JsonValue } from '../../json/json.ts';
import { readJson } from '../../json/tokenizer.ts';
import type { RecordType } from '../../model/model.ts';
import { didYouMean } from '../../names.ts';
import { type Fault, Problem } from '../../problem.ts';
import type { PathNames } from '../../query/list-query.ts';
import { DIRECTIONS } from '../../query/paging.ts';
import {
  type Report,
  reportOn,
  didYouMeanHint,
  inUrl,
  packed,
  type Parameter,
  parseParameters,
  quote,
  unpacked,
  type WriteCondition,
} from '../../query/parameters.ts';
import { namesOf, resolveSubject } from '../../query/paths.ts';
import type { ParseSearch } from '../../query/resolve.ts';
import { type FrameList, linksTo } from '../lists.ts';

export interface HttpDialect {
  /** Parses query strings for the type, whose identifier has the dialect's name. */
  readonly parser: (type: RecordType) => ParseSearch;
  readonly frame: FrameList;
  /** The parameter that names relations to show. */
  readonly embed: string;
}

type Values = ReadonlyMap<string, readonly string[]>;

const valuesIn = (all: readonly Parameter[]): Values =>
  new Map([...Map.groupBy(all, ({ key }) => key)].map(([key, same]) => [key, same.map(({ value }) => value)]));

/** `once`: parameters that a client must not repeat; `others`: all that are not conditions. */
const parserOf =
  (
    once: readonly string[],
    others: readonly string[],
    read: (values: Values, translation: Translation) => readonly Parameter[],
  ): HttpDialect['parser'] =>
  (type) =>
  (search, rights) => {
    const { all: given, faults: unreadable } = parseParameters(search);
    const faults: Fault[] = [...unreadable];
    const values = valuesIn(given);
    const translation = new Translation(namesOf(type, type.defaultVariant, rights), faults, others);
    for (const name of once)
      if ((values.get(name)?.length ?? 0) > 1) translation.refuse(name, 'repeated', `"${name}" is given twice`);
    return { all: read(values, translation), faults, written };
  };

const written: WriteCondition = (...given) => `${inUrl(...given)} (as /api takes it)`;
const FOR_API = '; parameters like this are for /api';

/** Translates one query string to parameters of `/api`. */
class Translation {
  readonly names: PathNames;
  readonly #faults: Fault[];
  readonly #others: readonly string[];

  constructor(names: PathNames, faults: Fault[], others: readonly string[]) {
    this.names = names;
    this.#faults = faults;
    this.#others = others;
  }

  /** Returns no parameters, so that its callers can return its result. */
  refuse(parameter: string, code: string, message: string, suggest?: () => string): [] {
    reportOn(this.#faults, parameter)(code, message, suggest);
    return [];
  }

  /** Refuses and omits directions other than asc and desc. */
  ordered(key: string, field: string, direction: string, given = key): readonly Parameter[] {
    const isDirection = DIRECTIONS.has(direction.toLowerCase());
    if (!isDirection)
      this.refuse(given, 'invalid-value', `${quote(direction)} is not asc or desc`, () =>
        didYouMean(direction, DIRECTIONS.keys()),
      );
    return (isDirection ? [field, direction] : [field]).map((value) => ({ key, steps: ['orderBy'], value }));
  }

  /** The parameters of the condition that the client calls `key`; several values form a list. */
  compared(key: string, values: readonly string[]): readonly Parameter[] {
    const [path, operator, pattern] = this.comparison(key) ?? [];
    if (path === undefined || operator === undefined)
      return key === SEARCH ? this.#searched(values) : this.unknown(key);
    const parameters = (given: readonly string[], ...steps: readonly string[]): readonly Parameter[] =>
      given.map((value) => ({ key, steps, value }));
    if (pattern !== undefined) {
      // Every string contains the empty string.
      const texts = values.filter((value) => value !== '').map((text) => pattern.replace('%', () => text));
      return parameters(texts, path, operator);
    }
    if (operator === 'in') return parameters(values.join(',').split(','), path, operator);
    if (operator === 'eq') return values.length > 1 ? parameters(values, path, 'in') : parameters(values, path);
    return parameters(values, path, operator);
  }

  /** A field with exactly this name takes precedence over a suffix. */
  comparison(key: string): readonly [path: string, ...Comparison] | undefined {
    const start = { names: this.names, followed: 0 };
    const isPath = (text: string): boolean => resolveSubject(start, text, () => undefined, []) !== undefined;
    if (isPath(key)) return [key, 'eq'];
    for (const [word, comparison] of COMPARISONS) {
      const path = key.slice(0, -word.length - 1);
      if ((key.endsWith(`_${word}`) || key.endsWith(`:${word}`)) && isPath(path)) return [path, ...comparison];
    }
    return undefined;
  }

  #searched([text = '', ...others]: readonly string[]): readonly Parameter[] {
    const texts = [...this.names.type.fields.values()].filter((field) => field.type.operators.includes('like'));
    if (others.length > 0) return this.refuse(SEARCH, 'repeated', `"${SEARCH}" is given twice`);
    if (texts.length === 0) return this.refuse(SEARCH, 'unknown-parameter', `No field can be searched by "${SEARCH}"`);
    if (text === '') return [];
    return texts.map(({ name }) => ({ key: SEARCH, steps: ['$any', name, 'like'], value: `*${text}*` }));
  }

  unknown(key: string): [] {
    const refuse = (suggest?: () => string): [] =>
      this.refuse(key, 'unknown-parameter', `Unknown parameter ${quote(key)}`, suggest);
    if (key.startsWith('_cnd')) return refuse(() => FOR_API);
    if (this.#others.includes(`_${key}`)) return refuse(() => didYouMeanHint(`_${key}`));
    const [, name = '', word = ''] = /^(.+)[_:]([a-z]+)$/i.exec(key) ?? [];
    const isComparison = COMPARISONS.has(word);
    if (this.names.type.fields.has(name) && !isComparison)
      return refuse(() => `: "${name}" has no comparison ${quote(word)}${didYouMean(word, COMPARISONS.keys())}`);
    const hint: Report = (_code, _message, suggest) => void refuse(suggest);
    resolveSubject({ names: this.names, followed: 0 }, isComparison ? name : key, hint, this.#others);
    return [];
  }
}

const limitedTo = (key: string, offset: number, limit: number | undefined): readonly Parameter[] => [
  { key, steps: ['limit', '0'], value: String(offset) },
  ...(limit === undefined ? [] : [{ key, steps: ['limit', '1'], value: String(limit) }]),
];

const shownRelations = (paths: readonly string[]): Parameter => ({
  key: 'include',
  steps: undefined,
  value: paths.join(','),
});

// json-server: version 0 (`_start`, `_order`, `position_gte`) and 1 (`-position`, `_per_page`, `position:gte`).

const OTHERS = [...ONCE, ...EMBEDS];

const DEFAULT_SIZE = 10;

/** `_sort=position,name&_order=desc,asc`, or `_sort=-position,name`. */
function sorted(values: Values, to: Translation): readonly Parameter[] {
  const [fields, directions = []] = ['_sort', '_order'].map((name) => values.get(name)?.[0]?.split(','));
  if (fields === undefined && directions.length > 0)
    to.refuse('_order', 'misplaced-direction', '"_order" needs "_sort", which names the fields');
  else if (directions.length > (fields?.length ?? 0))
    to.refuse('_order', 'misplaced-direction', '"_order" has more items than "_sort"');
  return (fields ?? []).flatMap((text, index) => {
    const direction = directions[index] ?? (text.startsWith('-') ? 'desc' : 'asc');
    return to.ordered('_sort', text.replace(/^[-+]/, ''), direction, '_order');
  });
}

function paged(values: Values, to: Translation): readonly Parameter[] {
  const read = (name: string, least: number): number | undefined => {
    const text = values.get(name)?.[0];
    if (text === undefined) return undefined;
    const number = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number;
    to.refuse(name, 'invalid-value', `${quote(text)} is not an integer from ${least} on`);
    return undefined;
  };
  const [limit, start, end] = [read('_limit', 0), read('_start', 0), read('_end', 0)];
  const [number, perPage] = [read('_page', 1), read('_per_page', 1)];
  const key = ['_per_page', '_limit', '_end', '_start'].find((name) => values.has(name));
  if (number !== undefined || perPage !== undefined) {
    const slice = ['_start', '_end'].find((name) => values.has(name));
    if (slice !== undefined) to.refuse(slice, 'mixed-forms', `"${slice}" cannot be used together with pages`);
    const size = perPage ?? limit ?? DEFAULT_SIZE;
    return limitedTo(key ?? '_page', Math.min(((number ?? 1) - 1) * size, Number.MAX_SAFE_INTEGER), size);
  }
  if (key === undefined) return [];
  return limitedTo(key, start ?? 0, limit ?? (end === undefined ? undefined : Math.max(0, end - (start ?? 0))));
}

export const jsonServer: HttpDialect = {
  parser: parserOf(ONCE, OTHERS, (values, to) => {
    const embedded = EMBEDS.flatMap((name) => values.get(name) ?? []);
    const conditions = [...values].filter(([key]) => !OTHERS.includes(key));
    return [
      ...conditions.flatMap(([key, some]) => to.compared(key, some)),
      ...sorted(values, to),
      ...paged(values, to),
      ...(embedded.length > 0 ? [shownRelations(embedded)] : []),
    ];
  }),
  /** Version 0 links other pages in `Link`, version 1 in the body. */
  frame: ({ path }, { target }, { query: { offset, limit: size = 0 }, format, result }) => {
    const { total } = result;
    const search = new URLSearchParams(unpacked(target.query));
    const isVersion1 = search.has('_per_page');
    if ((!isVersion1 && !search.has('_page')) || size === 0 || !('rows' in result)) return { headers: {} };
    const number = Math.floor(offset / size) + 1;
    const last = total === undefined ? undefined : Math.max(1, Math.ceil(total / size));
    const prev = number > 1 ? number - 1 : undefined;
    const next = result.hasNext ? number + 1 : undefined;
    if (isVersion1) {
      const head = { first: 1, prev: prev ?? null, next: next ?? null, last, pages: last, items: total };
      const open = `${JSON.stringify(head).slice(0, -1)},"data":${format.open}`;
      return { headers: {}, format: { ...format, open, close: `${format.close}}` } };
    }
    const searchOf = (page: number | undefined): string | undefined => {
      search.set('_page', String(page));
      return page === undefined ? undefined : packed(search.toString());
    };
    const searches = { first: searchOf(1), prev: searchOf(prev), next: searchOf(next), last: searchOf(last) };
    return { headers: { Link: linksTo(target.base + path, searches) } };
  },
  embed: '_embed',
};

// ra-data-simple-rest: `sort`, `range` and `filter` as JSON, and `Content-Range`.

const listIn = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const isPosition = (value: JsonValue | undefined, least: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= least;

interface JsonParameter {
  readonly usage: string;
  readonly read: (value: JsonValue, to: Translation) => readonly Parameter[] | undefined;
}

const JSON_PARAMETERS: Readonly<Record<string, JsonParameter>> = {
  range: {
    usage: 'range takes the places of the first and the last record: range=[0,24]',
    read: (value) => {
      const [first, last, ...rest] = listIn(value);
      // An empty page ends before it begins.
      const isRange = isPosition(first, 0) && isPosition(last, first - 1) && rest.length === 0;
      return isRange ? limitedTo('range', first, last - first + 1) : undefined;
    },
  },
  sort: {
    usage: 'sort takes a field and its direction: sort=["name","ASC"]; further pairs may follow',
    read: (value, to) => {
      const items = listIn(value).flat();
      if (items.length === 0 || items.length % 2 > 0 || !items.every((item) => typeof item === 'string'))
        return undefined;
      return items.flatMap((item, index) => (index % 2 > 0 ? [] : to.ordered('sort', item, items[index + 1] ?? '')));
    },
  },
  filter: {
    usage: 'filter takes a JSON object: filter={"name":"x"}',
    read: (value, to) =>
      isObject(value) ? Object.entries(value).flatMap(([key, inner]) => filtered(key, inner, to)) : undefined,
  },
  embed: {
    usage: 'embed takes the names of relations: embed=["author"]',
    read: (value) => {
      const paths = Array.isArray(value) ? listIn(value) : [value];
      return paths.every((path) => typeof path === 'string') ? [shownRelations(paths)] : undefined;
    },
  },
};

/** The URL limits the keys and items. */
const JSON_LIMITS = { bodyKeys: Infinity, bodyItems: Infinity, bodyDepth: 32 };

/** Refuses repeated keys and strings that cannot be stored, as in bodies. */
function readParameter(key: string, text: string, to: Translation): readonly Parameter[] {
  const parameter = Object.hasOwn(JSON_PARAMETERS, key) ? JSON_PARAMETERS[key] : undefined;
  if (!parameter)
    return to.refuse(key, 'unknown-parameter', `Unknown parameter ${quote(key)}`, () => {
      const { fields, identifier } = to.names.type;
      if (key.startsWith('_cnd')) return FOR_API;
      const isField = fields.has(key) || key === identifier.name;
      return isField ? `; did you mean "filter={"${key}":…}"?` : didYouMean(key, Object.keys(JSON_PARAMETERS));
    });
  const { usage, read } = parameter;
  try {
    const { value, faults } = readJson(text, { limits: JSON_LIMITS, what: key, takesInteger: () => true });
    for (const { code, message } of faults) to.refuse(key, code, message);
    return faults.length > 0 ? [] : (read(value, to) ?? to.refuse(key, 'invalid-value', usage));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return to.refuse(key, 'invalid-value', `${error.message}; ${usage}`);
  }
}

function filtered(key: string, value: JsonValue, to: Translation): readonly Parameter[] {
  const refuse = (message: string): [] => to.refuse(key, 'invalid-value', message);
  if (isObject(value)) {
    const inside = Object.entries(value);
    if (inside.length === 0) return refuse(`${quote(key)} is compared with nothing`);
    return inside.flatMap(([step, inner]) => filtered(`${key}.${step}`, inner, to));
  }
  const [path = '', operator = key === SEARCH ? SEARCH : undefined] = to.comparison(key) ?? [];
  if (operator === undefined) return to.unknown(key);
  if (value === null)
    return operator === 'eq' || operator === 'ne'
      ? [{ key, steps: [path, 'null'], value: String(operator === 'eq') }]
      : refuse(`${quote(key)} takes a value, not null`);
  if (!Array.isArray(value))
    return to.compared(key, [String(value)]).map((parameter) =>
      // The string "null" is an ordinary value.
      parameter.steps?.length === 1 ? { ...parameter, steps: [...parameter.steps, 'eq'] } : parameter,
    );
  const values = listIn(value);
  if (values.some((item) => item === null || typeof item === 'object'))
    return refuse(`${quote(key)} has an item that is not a value`);
  // Nothing is in an empty list, and everything is out of it.
  if (values.length === 0 && operator !== 'ne')
    return [{ key, steps: [to.names.type.identifier.name, 'null'], value: 'true' }];
  return to.compared(key, values.map(String));
}

export const simpleRest: HttpDialect = {
  parser: parserOf(Object.keys(JSON_PARAMETERS), [], (values, to) =>
    [...values].flatMap(([key, [text = '']]) => readParameter(key, text, to)),
  ),
  frame: ({ type }, _, { query: { offset }, result }) => {
    const { total } = result;
    const count = 'rows' in result ? result.rows.length : total === undefined ? undefined : Math.max(0, total - offset);
    if (count === undefined) return { headers: {} };
    const range = count === 0 ? '*' : `${offset}-${offset + count - 1}`;
    // An estimate may be below the rows on this page.
    const all = total === undefined ? '*' : Math.max(total, count === 0 ? 0 : offset + count);
    return { headers: { 'Content-Range': `${encodeURIComponent(type.path)} ${range}/${all}` } };
  },
  embed: 'embed',
};
