/** Values mean the same in bodies, filters, cursors and descriptors; formats follow their standards. */
import { createAjv } from '../../engine/field-types/ajv-keywords.ts';
import { fieldTypes } from '../../engine/field-types/registry.ts';

const ajv = createAjv({ strict: false });
const words = (text: string): readonly string[] => text.split(/\s+/);

describe.each<[type: string, accepted: readonly string[], refused: readonly string[]]>([
  [
    'timestamp',
    [
      '2024-02-29T00:00:00Z',
      '2024-02-29T23:59:59.999Z',
      '2000-02-29T12:00:00.5+05:30',
      '2024-12-31T23:59:59-23:59',
      '2024-01-01T00:00:00-00:00',
    ],
    [
      ...(
        '2024-02-30T00:00:00Z 2023-02-29T00:00:00Z 1900-02-29T00:00:00Z 2024-04-31T00:00:00+02:00 ' +
        '2024-00-10T00:00:00Z 2024-13-10T00:00:00Z 2024-01-00T00:00:00Z 2024-01-32T00:00:00Z ' +
        '2024-01-01T24:00:00Z 2024-01-01T24:00:00.000+01:00 2024-01-01T23:60:00Z 2024-12-31T23:59:60Z ' +
        '2024-01-01T00:00:00+24:00 2024-01-01T00:00:00+01:60 2024-01-01T00:00:00+01 2024-01-01T00:00:00+0100 ' +
        '2024-01-01T00:00:00 2024-01-01t00:00:00z'
      ).split(' '),
      '2024-01-01 00:00:00Z',
      '2024-01-01T00:00:00.Z',
      '2024-01-01T00:00:00,5Z',
      '2024-01-01T00:00Z',
      '2024-01-01',
      '+002024-01-01T00:00:00Z',
      '2024-01-01T00:00:00Z\n',
      '\u0662024-01-01T00:00:00Z',
      '',
    ],
  ],
  [
    'date',
    ['2024-02-29', '0001-01-01', '9999-12-31'],
    ['2023-02-29', '2024-02-30', '2024-13-01', '2024-00-01', '2024-01-00', '2024-1-1', '2024-01-01Z', '20240101', ''],
  ],
  ['integer', ['0', '-7', '9007199254740991', '1.0', '1e2'], ['007', '+1', '1.5', '9007199254740992', '0x1', '']],
  ['number', ['0', '-7.25', '1e5', '1E-5'], ['007', '01.5', '+1', '.5', '5.', 'NaN', 'Infinity', '0x1', '']],
  ['decimal', ['0', '-7.25', '0.50'], ['007', '+1', '.5', '5.', '1e5', 'NaN', '', '12345678901234.56']],
])('a %s', (name, accepted, refused) => {
  const type = fieldTypes.get(name);
  const shape = { constraints: name === 'decimal' ? { scale: 2 } : {}, examples: [] };
  const isBodyValue = ajv.compile(type?.schema(shape) ?? false);
  const inBody = (text: string): unknown => {
    if (name !== 'integer' && name !== 'number') return text;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };

  test.each(accepted)('is %j', (text) => {
    expect([isBodyValue(inBody(text)), type?.parse(text) !== undefined]).toEqual([true, true]);
  });

  test.each(refused)('is not %j', (text) => {
    expect([isBodyValue(inBody(text)), type?.parse(text) !== undefined]).toEqual([false, false]);
  });
});

test.each([
  ['integer', { minimum: 0, maximum: 9 }, 'an integer from 0 to 9'],
  ['integer', { minimum: 1 }, 'an integer from 1 to 9007199254740991'],
  ['number', {}, 'a number'],
  ['number', { minimum: 0.5, maximum: 9 }, 'a number from 0.5 to 9'],
  ['number', { minimum: 0 }, 'a number of at least 0'],
  ['number', { maximum: 9 }, 'a number of at most 9'],
  ['decimal', { minimum: '0', maximum: '9.5' }, 'a decimal number from 0 to 9.5 as a string'],
  ['decimal', { maximum: '9.5' }, 'a decimal number of at most 9.5 as a string'],
])('messages about %s %j', (name, constraints, expected) => {
  expect(fieldTypes.get(name)?.expected({ constraints, examples: [] }).split(',')[0]).toBe(expected);
});

describe.each<[format: string, accepted: readonly string[], refused: readonly string[]]>([
  [
    'uuid',
    ['2eb8aa08-aa98-11ea-b4aa-73b441d16380', '2EB8AA08-AA98-11EA-B4AA-73B441D16380'],
    words(`urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380 {2eb8aa08-aa98-11ea-b4aa-73b441d16380}
      2eb8aa08aa9811eab4aa73b441d16380 2eb8aa08-aa98-11ea-b4aa-73b441d1638g`),
  ],
  [
    'hostname',
    ['example.com', 'a', 'xn--nxasmm1c.example', `${'a'.repeat(63)}.example`],
    [...words('example.com. .example a..b -a.b a-.b a_b .'), `${'a'.repeat(64)}.b`, 'a.'.repeat(126) + 'ab', ''],
  ],
  [
    'email',
    ["o'brien+x@example.com", 'a.b@xn--nxasmm1c.example'],
    [...words('a@b@c.d .a@b.c a.@b.c a..b@c.d a@-b.c a@b.c. é@b.c'), 'a b@c.d', `a@${'b'.repeat(64)}.c`, 'a@b.c\n'],
  ],
  [
    'ipv4',
    ['0.0.0.0', '255.255.255.255'],
    ['256.0.0.1', '01.2.3.4', '1.2.3', '1.2.3.4.5', '1.2.3.4/8', '\u0661.2.3.4'],
  ],
  [
    'ipv6',
    ['::', '::1', '2001:DB8::ff', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8'],
    ['fe80::1%eth0', '[::1]', '::1/64', '1::2::3', '12345::', '1:2:3:4:5:6:7', '::ffff:01.2.3.4', '1:2:3:4:5:6:7:8:'],
  ],
  [
    'uri',
    ['https://a:8@[::1]:80/b?c=d/?#e', 'urn:isbn:0451450523', 'mailto:a@b.c', 'file:///a', 'http://a/%41', 'a:'],
    [
      ...words(`/a //a/b 1a:b http://a/%4 http://a/%zz http://a/<b> http://a/"b" http://a/b\\c http://a/{b} http://a:b/c
        http://a@b@c/ http://[1.2.3.4]/ http://[::ffff:01.2.3.4]/ http:/[::1] http://a/#b#c http://é.example/`),
      'a b:c',
      'http://a/b c',
      'http://a/\n',
    ],
  ],
  [
    'uri-reference',
    ['', '/a', '//a/b', 'a/b:c', './a:b', '?a', '#a', 'https://a/b'],
    ['/a"b', '/a b', '/[::1]', '//a:b/c', '//a@b@c/', '1:b', '\\\\a\\b', '#a\\b', '/%4'],
  ],
])('format %s', (format, accepted, refused) => {
  const isValue = ajv.compile({ type: 'string', format });

  test.each(accepted)('accepts %j', (text) => {
    expect(isValue(text)).toBe(true);
  });

  test.each(refused)('refuses %j', (text) => {
    expect(isValue(text)).toBe(false);
  });
});

test.each([
  ['2024-03-10T01:30:00+01:00', '2024-03-10T00:30:00Z'],
  ['2024-03-10T00:30:00.500000Z', '2024-03-10T00:30:00.5Z'],
  ['2024-03-10T00:30:00.000Z', '2024-03-10T00:30:00Z'],
  ['2024-03-10T00:30:00.000001Z', '2024-03-10T00:30:00.000001Z'],
  ['1969-12-31T23:59:59.25+00:00', '1969-12-31T23:59:59.25Z'],
  ['0000-12-31T23:30:00-01:00', '0001-01-01T00:30:00Z'],
  ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
])('timestamp %s is answered as %s', (given, answered) => {
  expect(fieldTypes.get('timestamp')?.parse(given)).toBe(answered);
});
