import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Budget } from '../../engine/edge/budget.ts';
import { NO_CLIENT } from '../../engine/edge/caller.ts';
import { type Content, contentReader } from '../../engine/http/request.ts';
import { decode } from '../../engine/json/json.ts';
import { readJson } from '../../engine/json/tokenizer.ts';
import { type Body, readBody, textOf } from '../../engine/operations/body.ts';
import { faultyRequest, Problem } from '../../engine/problem.ts';
import { loadModel } from '../support/model.ts';
import fc from '../support/fast-check.ts';

const LIMITS = { bodyDepth: 64, bodyKeys: 1000, bodyItems: 1000, batchLimit: 3 };

/** Nothing of it is kept as text; whatever keys a body has are for the validator. */
const plain = loadModel('tests/fixtures/schemas/self-reference').types.values().next().value;
if (plain === undefined) throw new Error('the schema has no type');
const type = plain;

function parse(content: Content): Body {
  const text = 'parsed' in content ? textOf(content.parsed) : decode(content);
  const body = readBody(text, 'record', type, LIMITS);
  if (body.faults.length > 0) throw faultyRequest('invalid-body', body.faults);
  return body;
}

function read(bytes: Buffer): unknown {
  try {
    return parse(bytes).records[0]?.body;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [first] = error.errors;
    return [error.status, first && 'pointer' in first ? first.pointer : undefined, error.message];
  }
}

const nested = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
const syntax = (text: string): string => `The body is not valid JSON: ${text}`;

test.each<[string, unknown]>([
  ['{}', {}],
  ['\ufeff {"a": 1}', { a: 1 }],
  ['{"a":":","b\\":":"{\\\\"}', { a: ':', 'b":': '{\\' }],
  ['{"a":{"x":1},"b":{"x":2}}', { a: { x: 1 }, b: { x: 2 } }],
  ['{"a":"\\ud83d\\ude00"}', { a: '😀' }],
  [nested(64), JSON.parse(nested(64))],
  ['', [400, '', 'The body is empty; expected a JSON object']],
  [' ', [400, '', syntax('expected a value, the text ends, at line 1, column 2')]],
  ['{"a":}', [400, '/a', syntax('expected a value, found "}", at line 1, column 6')]],
  ['{"a":1,\n  }', [400, '', syntax('expected a key in double quotes, found "}", at line 2, column 3')]],
  ['{"a":[1 2]}', [400, '/a', syntax('expected "," or "]", found "2", at line 1, column 9')]],
  ['{"a":1 "b":2}', [400, '', syntax('expected "," or "}", found "\\"", at line 1, column 8')]],
  ['{"a" 1}', [400, '', syntax('expected ":", found "1", at line 1, column 6')]],
  ['{"a":1', [400, '', syntax('expected "," or "}", the text ends, at line 1, column 7')]],
  ['{"a":"x', [400, '/a', syntax('a string does not end, at line 1, column 6')]],
  ['{"a":"\\x"}', [400, '/a', syntax('a string has an unknown escape, at line 1, column 7')]],
  ['{"a":"\t"}', [400, '/a', syntax('a control character in a string must be escaped, at line 1, column 7')]],
  ['{"a":1} x', [400, '', syntax('expected the end of the text, found "x", at line 1, column 9')]],
  ['{"a":NaN}', [400, '/a', syntax('expected a value, found "N", at line 1, column 6')]],
  ["{'a':1}", [400, '', syntax('expected a key in double quotes, found "\'", at line 1, column 2')]],
  ['{"a":1,"a":2}', [400, '/a', syntax('the key "a" is repeated, at line 1, column 8')]],
  ['{"b":[{"\\u0061":1,"a":1}]}', [400, '/b/0/a', syntax('the key "a" is repeated, at line 1, column 19')]],
  [
    nested(65),
    [400, expect.any(String), syntax('arrays and objects are nested deeper than 64 levels, at line 1, column 69')],
  ],
  ['[]', [422, '', 'The body must be a JSON object, not an array']],
  ['null', [422, '', 'The body must be a JSON object, not null']],
  ['"a"', [422, '', 'The body must be a JSON object, not a string']],
  ['{"a":{"__proto__":1}}', [422, '/a/__proto__', 'The key "__proto__" is reserved']],
  ['{"\\u005f_proto__":1}', [422, '/__proto__', 'The key "__proto__" is reserved']],
  ['{"a":["x","\\u0000"]}', [422, '/a/1', 'The string contains U+0000, which cannot be stored']],
  ['{"a":"\\ud83d"}', [422, '/a', 'The string contains half of a surrogate pair; it must be well-formed Unicode']],
  ['{"\\udc00":1}', [422, '/\udc00', 'The key contains half of a surrogate pair; it must be well-formed Unicode']],
  ['{"a":1e999}', [422, '/a', 'The number is too large']],
])('%j', (text, expected) => {
  expect(read(Buffer.from(text))).toEqual(expected);
});

/** A JSON text in which one character may have been taken out, doubled or replaced. */
const nearlyJson = fc
  .tuple(
    fc.json({ maxDepth: 3 }),
    fc.nat(),
    fc.constantFrom('', ',', ':', '"', '}', '[', '1', '\\', '\n', ' '),
    fc.nat(1),
  )
  .map(([text, position, put, length]) => {
    const at = position % (text.length + 1);
    return text.slice(0, at) + put + text.slice(at + length);
  });

test('a fault has a place exactly where JSON.parse refuses the text, or a key is repeated', () => {
  fc.assert(
    fc.property(nearlyJson, (text) => {
      let fault = '';
      let value: unknown;
      try {
        value = readJson(text, { limits: LIMITS }).value;
      } catch (error) {
        fault = String(error);
      }
      let parsed: unknown;
      try {
        parsed = JSON.parse(text);
      } catch {
        return /line \d+, column \d+$/.test(fault);
      }
      if (fault === '') expect(value).toEqual(parsed);
      return fault === '' || fault.includes('is repeated');
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['a byte that is no UTF-8', [0x7b, 0x22, 0xff, 0x22, 0x7d]],
  ['half a character', [0x22, 0xc3, 0x22]],
  ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
])('%s', (_, bytes) => {
  expect(read(Buffer.from(bytes))).toEqual([400, '', 'The body is not valid UTF-8']);
});

test.each([
  ['short', 100, 10, [0, 0, 0]],
  ['long', 5000, 0, [0, 2, 2]],
  ['long, slow', 5000, 10, [0, 2, 4]],
])('turns in which three %s bodies that came together are handed on', async (_, length, milliseconds, expected) => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => (now += milliseconds));
  const readContent = contentReader({ bodyLimit: 10_000 }, new Budget(1_000_000));
  const headers = { 'content-type': 'application/json', 'content-length': String(length) };
  const bodies = expected.map(() => Object.assign(Readable.from([Buffer.alloc(length)]), { headers }));
  let turn = 0;
  const reading = bodies.map(async (body) => {
    await readContent(body as unknown as IncomingMessage, NO_CLIENT, ['application/json']);
    return turn;
  });
  await Promise.all(bodies.map((body) => once(body, 'end')));
  for (; turn < 4; turn += 1) await nextTurn();
  jest.restoreAllMocks();
  expect(await Promise.all(reading)).toEqual(expected);
});
