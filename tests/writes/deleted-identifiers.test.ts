/** A client may bring an identifier that was deleted: it is a new record, with nothing of the old one. The service never assigns one again. */
import { join } from 'node:path';
import type { JsonObject } from '../../engine/json/json.ts';
import { ask } from '../support/ask.ts';
import { createProject, type Project } from '../support/project.ts';

const FILES = {
  'shelf.yaml': `type: Shelf
path: shelves
fields: { name: { type: string, default: unnamed }, code: { type: string, unique: true } }
relations:
  books: { kind: hasMany, type: Book, inverse: shelf, owned: true }
  notes: { kind: hasMany, type: Note, inverse: shelf, nested: write }
  lock: { kind: hasOne, type: Lock, inverse: shelf, owned: true }
  labels: { kind: manyToMany, type: Label, nested: write }
seed:
  - { id: 1, name: seeded }
`,
  'book.yaml': `type: Book
fields: { title: { type: string } }
relations: { shelf: { kind: belongsTo, type: Shelf, inverse: books, required: true } }
`,
  'note.yaml': `type: Note
fields: { text: { type: string } }
relations: { shelf: { kind: belongsTo, type: Shelf, inverse: notes, onDelete: setNull } }
`,
  'lock.yaml': `type: Lock
fields: { key: { type: string } }
relations: { shelf: { kind: belongsTo, type: Shelf, inverse: lock } }
`,
  'label.yaml': `type: Label
fields: { word: { type: string } }
`,
};

const FULL = {
  name: 'old',
  code: 'c',
  books: [{ title: 'a' }, { title: 'b' }],
  notes: [{ text: 'n' }],
  lock: { key: 'k' },
  labels: [{ word: 'w' }],
};
const EMPTY = { name: 'unnamed', code: null, books: [], notes: [], lock: null, labels: [] };

describe('a deleted identifier', () => {
  let project: Project;
  beforeAll(async () => void (project = await createProject(FILES)));
  afterAll(() => project.remove());

  const made = async (url: string, body: object): Promise<JsonObject & { readonly id: number }> => {
    const { status, body: record } = await ask(url, 'POST /api/shelves', body);
    expect({ status, record }).toMatchObject({ status: 201 });
    return record as JsonObject & { readonly id: number };
  };
  const madeAndDeleted = async (url: string, body: object = {}): Promise<number> => {
    const { id } = await made(url, body);
    expect((await ask(url, `DELETE /api/shelves/${id}`)).status).toBe(200);
    return id;
  };

  it('can be reused by clients, each time for a new record', async () =>
    project.serving(async (url) => {
      const { id } = await made(url, FULL);
      for (let turn = 0; turn < 3; turn += 1) {
        expect((await ask(url, `DELETE /api/shelves/${id}`)).status).toBe(200);
        expect(await made(url, { id })).toEqual({ id, ...EMPTY });
        expect((await ask(url, `GET /api/shelves/${id}`)).body).toEqual({ id, ...EMPTY });
        const listed = (await ask(url, `GET /api/shelves?_cnd[id]=${id}`)).body;
        expect(listed).toEqual([{ id, ...EMPTY }]);
        const { status } = await ask(url, `PUT /api/shelves/${id}`, FULL);
        expect(status).toBe(200);
      }
      // Those of the old ones: unlinked, and not linked again.
      const notes = await ask(url, 'GET /api/notes?_cnd[shelf][null]=true&include=');
      expect(notes.body).toHaveLength(3);
      expect((await ask(url, 'GET /api/books?include=')).body).toHaveLength(2);
    }));

  it('is not assigned after a restart', async () => {
    const last = await project.serving((url) => madeAndDeleted(url));
    await project.serving(async (url) => {
      expect(await made(url, {})).toMatchObject({ id: last + 1 });
      expect(await made(url, { id: last })).toMatchObject({ id: last });
    });
  });
  it('comes back by an import, and the sequence stays past every one that was ever used', async () => {
    const target = await createProject(FILES);
    const file = join(project.directory, 'records.ndjson');
    try {
      const { shown, last } = await project.serving(async (url) => {
        const { id } = await made(url, { name: 'exported', books: [{ title: 'of it' }] });
        return { last: id, shown: (await ask(url, 'GET /api/shelves')).body };
      });
      await target.serving(async (url) => {
        await madeAndDeleted(url, { id: last, books: [{ title: 'of the old one' }] });
        await madeAndDeleted(url, { id: last + 50 });
        await ask(url, 'DELETE /api/shelves/1');
      });
      expect(await project.run('export', file)).toMatchObject({ code: 0 });
      expect(await target.run('import', file)).toMatchObject({ code: 0, err: '' });
      await target.serving(async (url) => {
        expect((await ask(url, 'GET /api/shelves')).body).toEqual(shown);
        expect(await made(url, {})).toMatchObject({ id: last + 51 });
      });
    } finally {
      await target.remove();
    }
  });
});
