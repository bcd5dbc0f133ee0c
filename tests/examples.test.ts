/** The reader of examples, without a server: what a document says is what would be sent. */
import { parseCurl } from './support/curl.ts';
import { readBlocks, readExamples } from './support/examples.ts';
import { shellCommands } from './support/shell.ts';

test.each<[string, string[][]]>([
  ['curl a b', [['curl', 'a', 'b']]],
  [`curl -d '{"a": "it''s"}'`, [['curl', '-d', '{"a": "its"}']]],
  [`curl "a \\"b\\" \\n"`, [['curl', 'a "b" \\n']]],
  [
    'curl \\\n  -X PUT\ncurl b',
    [
      ['curl', '-X', 'PUT'],
      ['curl', 'b'],
    ],
  ],
  [`# first\ncurl 'a\nb'`, [['curl', 'a\nb']]],
  ['curl http://x/#part', [['curl', 'http://x/#part']]],
])('%j', (text, commands) => {
  expect(shellCommands(text)).toEqual(commands);
});

const URL = 'http://127.0.0.1:3000/api/x';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

test.each([
  [`curl -i ${URL}`, { method: 'GET', path: '/api/x', headers: {}, body: undefined }],
  [`curl -sg '${URL}?a[0]=1'`, { method: 'GET', path: '/api/x?a[0]=1', headers: {}, body: undefined }],
  [`curl -X DELETE ${URL}`, { method: 'DELETE', path: '/api/x', headers: {}, body: undefined }],
  [`curl ${URL} -d {}`, { method: 'POST', path: '/api/x', headers: FORM, body: '{}' }],
  [
    `curl --request PUT ${URL} --header 'Content-Type: application/json' --data {}`,
    { method: 'PUT', path: '/api/x', headers: { 'content-type': 'application/json' }, body: '{}' },
  ],
  [
    `curl ${URL} --json {}`,
    {
      method: 'POST',
      path: '/api/x',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: '{}',
    },
  ],
  [
    `curl -G ${URL} -d a=1 --data-urlencode 'b=ä b'`,
    { method: 'GET', path: '/api/x?a=1&b=%C3%A4%20b', headers: {}, body: undefined },
  ],
])('%s', (text, request) => {
  expect(parseCurl(shellCommands(text)[0]?.slice(1) ?? [])).toEqual(request);
});

test.each([`curl --proxy p ${URL}`, 'curl https://example.com/', `curl ${URL} | jq .`])('%s is refused', (text) => {
  expect(() => parseCurl(shellCommands(text)[0]?.slice(1) ?? [])).toThrow(SyntaxError);
});

const DOCUMENT = `# Title

\`\`\`sh
npm start
curl ${URL}
curl ${URL}/1
\`\`\`

\`\`\`json
{ "id": 1 }
\`\`\`

\`\`\`sh
curl -X DELETE ${URL}/1
\`\`\`

\`\`\`yaml
type: X
\`\`\`
`;

test('blocks have their language, text and line', () => {
  expect(readBlocks(DOCUMENT).map(({ language, line }) => [language, line])).toEqual([
    ['sh', 3],
    ['json', 9],
    ['sh', 13],
    ['yaml', 17],
  ]);
  expect(readBlocks(DOCUMENT)[3]?.text).toBe('type: X\n');
});

test('the answer belongs to the last command of the block above it', () => {
  expect(readExamples(DOCUMENT, 'x.md').map(({ title, answer }) => [title, answer])).toEqual([
    ['x.md:3 GET /api/x', undefined],
    ['x.md:3 GET /api/x/1', { id: 1 }],
    ['x.md:13 DELETE /api/x/1', undefined],
  ]);
});
