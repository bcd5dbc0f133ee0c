/** Items of an array may link records that the same array makes with identifiers of their own. */
import { ask, type Answer } from '../support/ask.ts';
import { askRow, faultsIn, rowsOf } from '../support/table.ts';
import { useServer } from '../support/server.ts';

const schemaDirectory = 'tests/fixtures/linked-items';

const server = useServer({ schemaDirectory });

const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);

const folders = async (): Promise<unknown> => {
  const { body } = await send('GET /api/folders?include=parent,peer&_cnd[id][gte]=3');
  return (body as readonly Row[]).map(({ id, name, parent, peer }) => [id, name, parent?.id ?? 0, peer?.id ?? 0]);
};

beforeEach(async () => {
  for (const path of ['parts', 'folders']) {
    const { body } = await send(`GET /api/${path}?fields=id`);
    const ids = (body as readonly Row[]).map(({ id }) => id).filter((id) => path !== 'folders' || id > 2);
    for (const id of ids.toReversed()) await send(`DELETE /api/${path}/${id}`);
  }
});

test('seeds refer to each other', async () => {
  const { body } = await send('GET /api/folders?include=parent,peer&fields=id');
  expect(body).toEqual([
    { id: 1, parent: expect.objectContaining({ id: 2 }), peer: expect.objectContaining({ id: 1 }) },
    { id: 2, parent: null, peer: expect.objectContaining({ id: 2 }) },
  ]);
});

describe('are refused', () => {
  test.each(
    rowsOf(`
        POST /api/folders [{"id":700,"name":"a","parent":{"id":701}},{"id":701,"name":"b","parent":{"id":700}}] => /1/parent cycle
        POST /api/folders [{"id":540,"name":"a","peer":{"id":541}},{"id":541,"name":"b","peer":{"id":542}},{"id":542,"name":"c","peer":{"id":540}}] => /2/peer cycle
        POST /api/folders [{"id":700,"name":"a","children":[{"name":"b","children":[{"id":700,"name":"a"}]}]}] => /0/children/0/children/0 cycle
        POST /api/parts [{"id":700,"whole":{"id":701}},{"id":701,"whole":{"id":700}}] => /1/whole cycle
        POST /api/folders [{"id":700,"name":7},{"name":"c","peer":{"id":700}}] => /0/name type
        POST /api/folders [{"id":700,"name":"a"},{"name":"c","peer":{"id":701}}] => /1/peer/id not-found
        POST /api/folders [{"id":700,"name":"a"},{"name":"c","peer":{"id":700,"name":"b"}}] => /1/peer/name contradiction
        POST /api/folders [{"id":700,"name":"a","parent":{"id":702}},{"id":701,"name":"a","parent":{"id":702}},{"id":702,"name":"c","peer":{"id":700}}] => /2/peer cycle
      `),
  )('%s', async (row, fault) => {
    const answer = await askRow(server.url, row);
    expect([answer.status, faultsIn(answer)]).toEqual([422, fault]);
    expect(await folders()).toEqual([]);
  });
});

interface Row {
  readonly id: number;
  readonly name: string;
  readonly parent: { readonly id: number } | null;
  readonly peer: { readonly id: number } | null;
}
