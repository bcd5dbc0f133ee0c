/** Text: well-formed Unicode without U+0000, ordered by code point. */
import {
  boundsFault,
  COMPARING,
  expectedOf,
  type FieldType,
  type KeywordFault,
  listed,
  numeric,
  pick,
  type Shape,
  sizeOf,
} from './field-type.ts';
import { formats } from './formats.ts';
import { slowPattern } from './patterns.ts';
import { dateText } from './date.ts';
import { instantText } from './timestamp.ts';
import { asIs, asText, asWritten, NOT_STRINGS, postgresText, textColumn, toText } from './columns.ts';

const lengths = (shape: Shape) => ({
  minLength: numeric(shape, 'minLength', 0),
  maxLength: numeric(shape, 'maxLength', Number.POSITIVE_INFINITY),
});

function patternFaults({ constraints: { pattern, maxLength }, examples }: Shape): readonly KeywordFault[] {
  if (typeof pattern !== 'string') return [];
  const reason = slowPattern(pattern, typeof maxLength === 'number' ? maxLength : undefined);
  const messages = [
    ...(examples.length === 0 ? ['a pattern needs at least one value in examples that matches it'] : []),
    ...(reason === undefined ? [] : [`this pattern is too slow: ${reason}`]),
  ];
  return messages.map((message) => ({ keyword: 'pattern', message }));
}

export const string: FieldType = {
  name: 'string',
  operators: [...COMPARING, 'like'],
  isText: true,
  schema: (shape) => ({ type: 'string', ...shape.constraints }),
  expected: (shape) => {
    const { minLength, maxLength, format, pattern } = shape.constraints;
    const kind = format === undefined ? 'a string' : `a string of format ${String(format)}`;
    const matching = pattern === undefined ? '' : ` that matches ${String(pattern)}`;
    return expectedOf(shape) ?? `${kind}${sizeOf(minLength, maxLength, 'character')}${matching}`;
  },
  faults: (shape) => [...boundsFault(shape, 'minLength', 'maxLength'), ...patternFaults(shape)],
  parse: (text) => text,
  ...asWritten,
  columns: {
    sqlite: {
      ...textColumn,
      convertsFrom: { integer: asText, decimal: asIs, date: asIs, uuid: asIs, timestamp: instantText.sqlite },
    },
    postgres: {
      ...postgresText,
      convertsFrom: { integer: toText, decimal: toText, date: dateText, uuid: toText, timestamp: instantText.postgres },
    },
  },
  temporary: (index) => `~${index}`,
  good: (shape, seed) => {
    const values = listed(shape) ?? (shape.constraints['pattern'] === undefined ? undefined : shape.examples);
    if (values) return pick(values, seed);
    const format = formats[String(shape.constraints['format'])];
    if (format) return format.good(seed);
    const { minLength, maxLength } = lengths(shape);
    const text = `sample ${seed}`.padStart(minLength, 'x');
    return text.length <= maxLength ? text : maxLength === 0 ? '' : text.slice(-maxLength);
  },
  edges: (shape) => {
    if (listed(shape)) return listed(shape) ?? [];
    if (shape.constraints['pattern'] !== undefined || shape.constraints['format'] !== undefined) return shape.examples;
    const { minLength, maxLength } = lengths(shape);
    const longest = Math.min(maxLength, Math.max(minLength, 1_000));
    return [
      'x'.repeat(minLength),
      '\u{1F600}'.repeat(longest),
      'é"\\\n\u2028\u{10FFFF}'.slice(0, longest).padEnd(minLength, 'x'),
    ]
      .map((value) => value.toWellFormed())
      .filter((value) => [...value].length >= minLength && [...value].length <= maxLength);
  },
  bad: ({ constraints }) => [
    ...NOT_STRINGS,
    '\0',
    '\uD800',
    ...(constraints['format'] === undefined ? [] : ['not a <sample>']),
  ],
};
