import { ask } from '../support/ask.ts';
import { useServer } from '../support/server.ts';

const REQUIRED = { string_required: 'a', string_required_nullable: 'b', boolean_required: true };

const server = useServer({ schemaDirectory: 'tests/fixtures/schemas/every-field-type' });

test.each([
  ['string_short', 'x', 'a string of 2 to 12 characters'],
  ['array_bounded', [], 'an array of 1 to 3 items'],
  ['array_strings', [], 'an array of 1 to 4 items, each item a string of 2 to 5 characters'],
  ['array_any', [1, 2], 'an array of at most 1 item, each'],
])('%s: %j must be %s', async (name, value, expected) => {
  const { status, body } = await ask(server.url, 'POST /api/samples', { ...REQUIRED, [name]: value });
  expect([status, (body as { message: string }).message]).toEqual([
    422,
    expect.stringContaining(` must be ${expected}`),
  ]);
});

test.each<[body: object, pointers: readonly string[]]>([
  [{ array_strings: ['ab', 'a', 7, 'abcdef'] }, ['/1', '/2', '/3']],
  [{ array_pattern: ['abc', null, 'A'] }, ['/2']],
  [{ array_decimals: ['1.50', 1.5] }, ['/1']],
  [{ array_decimals: ['1.505', null] }, ['/0', '/1']],
  [{ array_nested: [[1], [0, -1], 3, [1, 2, 3]] }, ['/1/1', '/2', '/3']],
  [{ array_any: [null] }, []],
  [{ array_present: [1, null] }, ['/1']],
  [{ array_strings: [] }, ['']],
])('%j', async (body, pointers) => {
  const [name = ''] = Object.keys(body);
  const answer = await ask(server.url, `POST /api/samples?include=&fields=${name}`, { ...REQUIRED, ...body });
  const { errors = [] } = answer.body as { readonly errors?: readonly { readonly pointer: string }[] };
  expect([answer.status, errors.map(({ pointer }) => pointer)]).toEqual([
    pointers.length > 0 ? 422 : 201,
    pointers.map((pointer) => `/${name}${pointer}`),
  ]);
});
