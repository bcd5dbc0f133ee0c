/** Nothing in a response depends on records that the token may not read, except that there is a conflict. */
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import { createProject, type Project } from '../support/project.ts';

/** The token reads and writes Board, Card and Pin, and knows nothing of Audit, Sheet, Stamp and Label. */
const FILES = {
  'board.yaml': `type: Board
fields: { name: { type: string }, code: { type: string } }
relations:
  cards: { kind: hasMany, type: Card, inverse: board, owned: true }
  pins: { kind: hasMany, type: Pin, inverse: board }
  sheets: { kind: hasMany, type: Sheet, inverse: board }
  stamps: { kind: hasMany, type: Stamp, inverse: board }
  labels: { kind: manyToMany, type: Label }
  audit: { kind: belongsTo, type: Audit }
unique: [[code, audit]]
`,
  'card.yaml': `type: Card
fields: { text: { type: string } }
relations:
  board: { kind: belongsTo, type: Board, inverse: cards }
  sheet: { kind: belongsTo, type: Sheet, onDelete: cascade }
`,
  'pin.yaml': `type: Pin
fields: { text: { type: string } }
relations:
  board: { kind: belongsTo, type: Board, inverse: pins, onDelete: setNull }
  card: { kind: belongsTo, type: Card }
  sheet: { kind: belongsTo, type: Sheet, onDelete: setNull }
`,
  'sheet.yaml': `type: Sheet
fields: { text: { type: string } }
relations: { board: { kind: belongsTo, type: Board, inverse: sheets, onDelete: cascade } }
`,
  'stamp.yaml': `type: Stamp
fields: { text: { type: string } }
relations:
  board: { kind: belongsTo, type: Board, inverse: stamps, onDelete: setNull }
  card: { kind: belongsTo, type: Card }
`,
  'label.yaml': 'type: Label\nfields: { word: { type: string } }\n',
  'audit.yaml': 'type: Audit\nfields: { word: { type: string } }\n',
};

const [root, some] = [createToken(), createToken()];
const KNOWN = new Set(['Board', 'Card', 'Pin']);
const TOKENS = [
  tokenLine({ name: 'root', read: 'all', write: 'all' }, root),
  tokenLine({ name: 'some', read: KNOWN, write: KNOWN }, some),
].join(';');

describe('a token that may not read some types', () => {
  let project: Project;
  let service: Serving;
  beforeAll(async () => {
    project = await createProject(FILES);
    service = await serve({ ...readSettings({ ...project.environment, TOKENS }), shutdownTimeout: 1000 });
  });
  afterAll(async () => {
    await service.close();
    await project.remove();
  });

  const asRoot = async (path: string, body: object): Promise<{ id: number }> => {
    const answer = await ask(service.url, `POST /api/${path}`, body, { authorization: `Bearer ${root}` });
    expect(answer).toMatchObject({ status: 201 });
    return answer.body as { id: number };
  };
  const asSome = async (title: string, body?: unknown, headers: object = {}): Promise<unknown> => {
    const answer = await ask(service.url, title, body, { authorization: `Bearer ${some}`, ...headers });
    return { status: answer.status, body: answer.body };
  };
  /** The text of a response, with the identifiers of the board and its cards replaced. */
  const without = (answer: unknown, ...identifiers: readonly number[]): string =>
    identifiers.reduce(
      (text, identifier, index) => text.replaceAll(new RegExp(`\\b${identifier}\\b`, 'g'), `#${index}`),
      JSON.stringify(answer).replace(/"ETag":[^}]*/, ''),
    );

  /** A board with a card and a pin; and with hidden records in every place that a deletion reaches. */
  async function boards(): Promise<readonly (readonly [board: number, card: number, pin: number])[]> {
    const made = async (isHidden: boolean) => {
      const { id } = await asRoot('boards', { name: 'n' });
      const board = { id };
      const card = await asRoot('cards', { board });
      const pin = await asRoot('pins', { board });
      if (isHidden) {
        const [sheet] = [await asRoot('sheets', { board }), await asRoot('stamps', { board })];
        for (let turn = 0; turn < 3; turn += 1) await asRoot('cards', { sheet: { id: sheet.id } });
        await asRoot('pins', { sheet: { id: sheet.id } });
        const label = await asRoot('labels', { word: 'w' });
        await ask(service.url, `PUT /api/boards/${id}`, { labels: [label] }, { authorization: `Bearer ${root}` });
      }
      return [id, card.id, pin.id] as const;
    };
    return [await made(false), await made(true)];
  }

  const both = async (
    request: (board: number, card: number) => readonly [title: string, body?: unknown, headers?: object],
  ): Promise<readonly string[]> => {
    const answers: string[] = [];
    for (const [board, card, pin] of await boards()) {
      const [title, body, headers] = request(board, card);
      answers.push(without(await asSome(title, body, headers), board, card, pin));
    }
    return answers;
  };

  test.each<[string, Parameters<typeof both>[0], string]>([
    ['a deletion', (id) => [`DELETE /api/boards/${id}`], '"name":"n"'],
    ['a dry run of it', (id) => [`DELETE /api/boards/${id}?dryRun=true`], '"effect":"deleted"'],
    [
      'a deletion by filters',
      (id) => [`DELETE /api/boards?_cnd[id]=${id}`, undefined, { prefer: 'max-affected=3' }],
      '"affected":3',
    ],
    [
      'a dry run of that',
      (id) => [`DELETE /api/boards?_cnd[id]=${id}&dryRun=true`, undefined, { prefer: 'max-affected=3' }],
      '"effect":"unlinked"',
    ],
    [
      'one that may not affect so many',
      (id) => [`DELETE /api/boards?_cnd[id]=${id}`, undefined, { prefer: 'max-affected=2' }],
      'too-many-affected',
    ],
    ['a set that is replaced', (id) => [`PUT /api/boards/${id}?dryRun=true`, { cards: [] }], '"effect":"deleted"'],
  ])('gets the same response, whatever is hidden: %s', async (_, request, expected) => {
    const [plain, hidden] = await both(request);
    expect(plain).toContain(expected);
    expect(hidden).toBe(plain);
  });

  const REFUSED = {
    status: 409,
    body: expect.objectContaining({
      detail: 'Records that you may not read refer to what would be deleted',
      errors: [
        {
          pointer: expect.any(String),
          code: 'restrict',
          message: 'Records that you may not read refer to what would be deleted',
        },
      ],
    }),
  };

  it('learns that what it may not read prevents a deletion, and not which, where or how many', async () => {
    const { id } = await asRoot('boards', {});
    const card = await asRoot('cards', { board: { id } });
    for (let turn = 0; turn < 2; turn += 1) {
      await asRoot('stamps', { card });
      for (const title of [
        `DELETE /api/boards/${id}`,
        `DELETE /api/cards/${card.id}`,
        `DELETE /api/boards/${id}?dryRun=true`,
      ])
        expect(await asSome(title)).toEqual(REFUSED);
      expect(await asSome(`PUT /api/boards/${id}`, { cards: [] })).toEqual(REFUSED);
    }
  });

  it('does not learn which records go with hidden ones, from those that refer to them', async () => {
    const { id } = await asRoot('boards', {});
    const sheet = await asRoot('sheets', { board: { id } });
    await asRoot('pins', { card: await asRoot('cards', { sheet }) });
    expect(await asSome(`DELETE /api/boards/${id}`)).toEqual(REFUSED);
  });

  it('learns of visible records that prevent it as ever', async () => {
    const { id } = await asRoot('boards', {});
    const card = await asRoot('cards', { board: { id } });
    const pin = await asRoot('pins', { card });
    const message = `Pin ${pin.id} refers to Card ${card.id}`;
    expect(await asSome(`DELETE /api/boards/${id}`)).toMatchObject({
      body: { errors: [{ message, records: [{ type: 'Pin', identifier: pin.id }] }] },
    });
  });

  it('does not learn which records share a hidden link of a unique group', async () => {
    const audit = await asRoot('audits', {});
    const [one, two] = [await asRoot('boards', { code: 'a', audit }), await asRoot('boards', { code: 'b', audit })];
    const message = 'Another record has this value of "code" already, together with what you may not read';
    const refused = (pointer: string): object => ({
      status: 409,
      body: expect.objectContaining({ detail: message, errors: [{ pointer, code: 'unique', message }] }),
    });
    expect(await asSome(`PATCH /api/boards/${two.id}`, { code: 'a' })).toEqual(refused('/code'));
    expect(await asSome(`PATCH /api/boards/${two.id}?dryRun=true`, { code: 'a' })).toEqual(refused('/code'));
    const all = [one, two].map(({ id }) => ({ id, code: 'c' }));
    expect(await asSome('PATCH /api/boards', all)).toEqual(refused('/1/code'));
  });
});
