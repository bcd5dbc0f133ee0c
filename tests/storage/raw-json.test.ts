/** JSON taken apart as text: nothing is lost, two texts are the same where their values are, a patch touches only what it names. */
import { membersOf, mergePatch, sameValue, readJson } from '../../engine/json/tokenizer.ts';
import { rawJson } from '../support/raw-json.ts';
import fc from '../support/fast-check.ts';

test('a text is parsed as JSON.parse does', () => {
  const limits = { bodyDepth: 64, bodyKeys: 1000, bodyItems: 1000 };
  const property = fc.property(rawJson, (text) => {
    // JSON.parse itself confuses escaped keys (nodejs/node#63785).
    fc.pre(!/\\[^"]*"\s*:/.test(text));
    expect(readJson(text, { limits, kept: 'text' }).value).toEqual(JSON.parse(text));
  });
  fc.assert(property, { numRuns: 1000 });
});

test.each([
  ['1', '1.0', true],
  ['1', '10e-1', true],
  ['100', '1e2', true],
  ['-0', '0.00e7', true],
  ['0.5', '5E-1', true],
  ['12345678901234567890', '12345678901234567891', false],
  ['12345678901234567890', '1234567890123456789e1', true],
  ['1e400', '10e399', true],
  ['1e400', '1e401', false],
  ['1e99999999999999999999', '1e99999999999999999999', true],
  ['1e99999999999999999999', '1e99999999999999999998', false],
  ['-1', '1', false],
  ['1', '"1"', false],
  ['null', 'false', false],
  ['"\\u00e9"', '"é"', true],
  ['"\\/"', '"/"', true],
  ['{"a":1,"b":[1.0]}', '{"b":[1],"\\u0061":1.0}', true],
  ['{"a":1}', '{"a":1,"b":null}', false],
  ['[1,2]', '[2,1]', false],
  ['{"2":1,"10":1}', '{"10":1,"2":1}', true],
])('%s and %s', (a, b, same) => {
  expect([sameValue(a, b), sameValue(b, a)]).toEqual([same, same]);
});

// RFC 7396, appendix A.
test.each([
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  [' { "a" : 1.0 , "b" : [ 2 ] } ', '{"c":3}', '{"a":1.0,"b":[2],"c":3}'],
  ['{"9":1.0,"\\u0061":1e2}', '{"a":-0,"8":2.0}', '{"9":1.0,"\\u0061":-0,"8":2.0}'],
])('%s patched with %s', (target, patch, expected) => {
  expect(mergePatch(target, patch)).toBe(expected);
});

test.each(['{"a', '{"a":"b', '["', '{', '[1,', '"', '{"a"', '{a', '{"a":1,,'])(
  '%s, which somebody else has cut, ends',
  (text) => {
    expect(membersOf(text).size).toBe(0);
    expect(sameValue(text, '{}')).toBe(false);
  },
);
