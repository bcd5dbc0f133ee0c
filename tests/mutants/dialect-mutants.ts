/** Faults to plant in the dialects: in their tables, and in what they make of requests and answers. */
import { inTest, type Mutant, mutant, type MutantOfTest } from './mutant.ts';

/** Words of comparisons, each taken for another one. */
const WORDS = [
  ['eq', 'EQUAL', 'WITHIN'],
  ['ne', "{ operator: 'ne' }", 'EQUAL'],
  ['neq', "{ operator: 'ne' }", 'EQUAL'],
  ['lt', "{ operator: 'lt' }", "{ operator: 'lte' }"],
  ['lte', "{ operator: 'lte' }", "{ operator: 'lt' }"],
  ['gt', "{ operator: 'gt' }", "{ operator: 'gte' }"],
  ['gte', "{ operator: 'gte' }", "{ operator: 'gt' }"],
  ['in', "{ operator: 'in' }", 'EQUAL'],
  ['eq_any', "{ operator: 'in' }", 'EQUAL'],
  ['like', 'WITHIN', 'EQUAL'],
  ['contains', 'WITHIN', 'EQUAL'],
  ['q', 'WITHIN', 'EQUAL'],
] as const;

const comparisons = WORDS.map(([word, right, wrong]) =>
  mutant(`the comparison ${word}`, `['${word}', ${right}]`, `['${word}', ${wrong}]`),
);

const conditions: readonly Mutant[] = [
  mutant('the comparison startsWith', 'pattern: (text) => `${text}*`', 'pattern: (text) => `*${text}`'),
  mutant('the comparison endsWith', 'pattern: (text) => `*${text}` }', 'pattern: (text) => `${text}*` }'),
  mutant('a search at the beginning only', 'pattern: (text) => `*${text}*`', 'pattern: (text) => `${text}*`'),
  mutant(
    'a field whose name ends like a comparison',
    'if (isPath(paths, key)) return { path: key, comparison: EQUAL };',
    '',
  ),
  mutant('comparisons with _ only', '|| key.endsWith(`:${word}`)', ''),
  mutant('comparisons with : only', 'key.endsWith(`_${word}`) ||', ''),
  mutant(
    'an empty text that is searched for',
    "values.filter((value) => value !== '').map((value) => named(path, operator)(pattern(value)))",
    'values.map((value) => named(path, operator)(pattern(value)))',
  ),
  mutant('a list of values taken for one', "values.flatMap((value) => value.split(',')).map", 'values.map'),
  mutant('several values taken for one', "values.length > 1 ? named(path, 'in') : named(path)", 'named(path)'),
  mutant('a search in all fields', "steps: ['$any', name, 'like']", "steps: ['$all', name, 'like']"),
  mutant('a search for nothing', "if (text === '') return [];", ''),
  mutant(
    'two searches',
    'if (others.length > 0) return complain(\'repeated\', `"${SEARCH}" is given twice`) ?? [];',
    '',
  ),
  mutant(
    'an unknown parameter that is ignored',
    "complain('unknown-parameter', `Unknown parameter ${quote(key)}`, () => { if (key.startsWith('_cnd'))",
    "(() => { if (key.startsWith('_cnd'))",
  ),
  mutant('the nearest parameter', 'if (others.includes(`_${key}`)) return `; did you mean "_${key}"?`;', ''),
  mutant('the nearest comparison', 'if (type.fields.has(name)) return `: "${name}"', 'if (!name) return `: "${name}"'),
  mutant('the other direction', "value: isDescending ? 'desc' : 'asc'", "value: isDescending ? 'asc' : 'desc'"),
  mutant('an offset that is left out', 'value: String(offset) }', "value: '0' }"),
  mutant(
    'a limit of one more',
    "steps: ['limit', '1'], value: String(limit)",
    "steps: ['limit', '1'], value: String(limit + 1)",
  ),
  mutant('the first relation only', "value: paths.join(',')", "value: paths[0] ?? ''"),
  mutant('directions in small letters only', 'DIRECTIONS.get(text.toLowerCase()) ??', 'DIRECTIONS.get(text) ??'),
];

const jsonServer: readonly Mutant[] = [
  mutant(
    'a parameter that is given twice',
    '(values.get(name)?.length ?? 0) > 1',
    '(values.get(name)?.length ?? 0) > 2',
  ),
  mutant('_expand that is not read', "const EMBEDS = ['_embed', '_expand'];", "const EMBEDS = ['_embed', '_embed'];"),
  mutant(
    '_order alone',
    "if (order !== undefined) complain('misplaced-direction',",
    "if (order === '') complain('misplaced-direction',",
  ),
  mutant('too many directions', 'if (directions.length > fields.length)', 'if (directions.length > 99)'),
  mutant(
    'a sign that is not read',
    "direction === undefined ? text.startsWith('-') :",
    'direction === undefined ? false :',
  ),
  mutant('a sign that stays', "text.replace(/^[-+]/, '')", 'text'),
  mutant('a page 0', "place === 'page' || place === 'size' ? 1 : 0", '0'),
  mutant(
    'a place that is not a number',
    '/^\\d+$/.test(text) && Number.isSafeInteger(number)',
    'Number.isSafeInteger(number)',
  ),
  mutant('pages of another size', 'const USUAL_SIZE = 10;', 'const USUAL_SIZE = 3;'),
  mutant('a size that is not read', 'size: size ?? limit ?? USUAL_SIZE', 'size: size ?? USUAL_SIZE'),
  mutant('pages and places', 'if (page && slice !== undefined)', 'if (page && slice === page)'),
  mutant('pages from 0 on', '(page.number - 1) * page.size', 'page.number * page.size'),
  mutant('an end before the start', 'Math.max(0, end - start)', 'end - start'),
  mutant('an end that is not read', 'limit ?? (end === undefined ? undefined : Math.max(0, end - start))', 'limit'),
  mutant('a limit that is not read', 'limit ?? (end === undefined', '(end === undefined'),
  mutant(
    'a last page that is cut off',
    'Math.max(1, Math.ceil(total / size))',
    'Math.max(1, Math.floor(total / size))',
  ),
  mutant('no last page of nothing', 'Math.max(1, Math.ceil(total / size))', 'Math.ceil(total / size)'),
  mutant('a page before the first', 'prev: number > 1 ? number - 1 : undefined', 'prev: number - 1'),
  mutant('a page behind the last', 'next: found.hasNext ? number + 1 : undefined', 'next: number + 1'),
  mutant('pages in Link for version 1', 'if (places.size !== undefined) {', 'if (places.size === 0) {'),
  mutant('pages without null', 'next: pages.next ?? null', 'next: pages.next'),
  mutant('links to the same page', "all.set('_page', String(page));", ''),
  mutant('links without the path', 'const url = target.base + path;', 'const url = path;'),
];

const simpleRest: readonly Mutant[] = [
  mutant(
    'a range without its last place',
    "limitedTo('range', first, last - first + 1)",
    "limitedTo('range', first, last - first)",
  ),
  mutant(
    'a range of nothing',
    'isPlace(last, first - 1) && rest.length === 0',
    'isPlace(last, first) && rest.length === 0',
  ),
  mutant('a range of three places', 'isPlace(last, first - 1) && rest.length === 0', 'isPlace(last, first - 1)'),
  mutant('a sort without direction', 'items.length === 0 || items.length % 2 > 0 ||', ''),
  mutant('the first sort only', "index % 2 > 0 ? [] : orderedBy('sort'", "index > 0 ? [] : orderedBy('sort'"),
  mutant(
    'null taken for a text',
    "if (value === null) return conditionsOf(names, key, ['true'], faults).map(toNull);",
    '',
  ),
  mutant(
    'null that is not null',
    "steps.length === 1 ? { ...parameter, steps: [...steps, 'null'] } : parameter",
    'parameter',
  ),
  mutant(
    'a comparison with nothing',
    'if (inside.length === 0) return complainAbout',
    'if (inside.length > 9) return complainAbout',
  ),
  mutant(
    'a path without its beginning',
    'filtered(`${key}.${step}`, inner, names, faults)',
    'filtered(step, inner, names, faults)',
  ),
  mutant(
    'an item that is not a value',
    "value === null || typeof value === 'object' ? [] : String(value)",
    'String(value)',
  ),
  mutant(
    'one of no values',
    "if (texts.length === 0) return [{ key, steps: [names.paths.type.identifier.name], value: '0' }];",
    '',
  ),
  mutant(
    'a text that is not JSON',
    'if (value === undefined) return complain(\'invalid-value\', `"${key}" is not JSON`) ?? [];',
    '',
  ),
  mutant(
    'a filter that is given twice',
    'if (others.length > 0) return complain(\'repeated\', `"${key}" is given twice`) ?? [];',
    '',
  ),
  mutant('embed that takes anything', "if (paths.every((path) => typeof path === 'string')) return", 'return'),
  mutant(
    'the hint at filter',
    'if (type.fields.has(key) || key === type.identifier.name) return',
    'if (key === type.identifier.name) return',
  ),
  mutant('places of nothing', "count === 0 ? '*' :", ''),
  mutant('a last place that is one too far', '`${offset}-${offset + count - 1}`', '`${offset}-${offset + count}`'),
  mutant('places without the offset', '`${offset}-${offset + count - 1}`', '`0-${count - 1}`'),
  mutant('a total of the page', "total === undefined ? '*' : Math.max(", "total === undefined ? '*' : Math.min("),
];

const records: readonly Mutant[] = [
  mutant('statements of /api', 'statementKey: `${type.statementKey} by ${idName}`', 'statementKey: type.statementKey'),
  mutant('a field that is called id', 'fields: without(type.fields)', 'fields: type.fields'),
  mutant('keys of open types', 'open: false, variants,', 'variants,'),
  mutant(
    'the other name of the identifier',
    'if (inRecord && Object.hasOwn(body, name)) {',
    'if (inRecord && name === idName) {',
  ),
  mutant(
    'another identifier in the body',
    'if (inRecord || given === null || String(given) === addressed) return faults;',
    'if (faults) return faults;',
  ),
  mutant(
    'an identifier that is dropped',
    'key === idName ? (inRecord ? [[name, value]] : []) :',
    'key === idName ? [] :',
  ),
  mutant('an identifier of records that hide it', '(inRecord ? [[name, value]] : [])', '[[name, value]]'),
  mutant(
    'pointers of /api',
    "return [...steps.slice(0, -1).map((step) => `/${step}`), `/${idName}`].join('');",
    'return pointer;',
  ),
  mutant(
    'pointers into related records',
    'if (steps.at(-1) !== name || !(steps.length === 1 ||',
    'if (steps.at(-1) !== name || !(steps.length > 0 ||',
  ),
  mutant('CSV in', 'bodyTypes === NEW_RECORDS ? RECORD_BODY : bodyTypes', 'bodyTypes'),
  mutant('CSV out', 'mediaTypes: [JSON_TYPE],', ''),
  mutant(
    'a list without its total',
    'frame: dialect.frame, needsTotal: true',
    'frame: dialect.frame, needsTotal: false',
  ),
  mutant('the parameter of /api', 'explained({ ...fault, parameter: dialect.embed })', 'explained(fault)'),
  mutant('advice of parameters that only /api has', 'return explained({ ...fault,', 'return ({ ...fault,'),
  mutant('advice as /api takes it', '`${fault.message} (as /api takes it)`', 'fault.message'),
  mutant('paths of /api', 'path: root + encodeURIComponent(type.path),', ''),
  mutant(
    'both dialects always',
    'new Map(names.map((name) => [`/${name}/`, DIALECTS[name]]))',
    "new Map((['json-server', 'simple-rest'] as const).map((name) => [`/${name}/`, DIALECTS[name]]))",
  ),
];

export const dialectMutants: readonly MutantOfTest[] = inTest(
  'http/dialects',
  ...comparisons,
  ...conditions,
  ...jsonServer,
  ...simpleRest,
  ...records,
);
