/** The plans of nested bodies, printed: a reviewer sees in these snapshots what a change of the write path does. */
import { checkSchema } from '../../engine/validation/check-schema.ts';
import { NO_CLIENT } from '../../engine/edge/caller.ts';
import type { JsonObject } from '../../engine/json/json.ts';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { Problem } from '../../engine/problem.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { createReads } from '../../engine/storage/read/reads.ts';
import { ALL_ALLOWED } from '../../engine/storage/write/allowed.ts';
import { lockNamed } from '../../engine/storage/write/locks.ts';
import { planDeletion, planWrite } from '../../engine/storage/write/plan.ts';
import { resolveBody } from '../../engine/storage/write/resolve.ts';
import { createSession, onlyReading, UNLIMITED_ROWS } from '../../engine/storage/write/session.ts';
import { createTables } from '../../engine/storage/write/tables.ts';
import { createStamp } from '../../engine/storage/columns.ts';
import { ask } from '../support/ask.ts';
import { printPlan } from '../support/print-plan.ts';
import { createProject, type Project } from '../support/project.ts';

const FILES = {
  'album.yaml': `type: Album
fields:
  name: { type: string }
  rank: { type: integer, unique: true }
  code: { type: string, unique: true, caseless: true }
  changed: { type: timestamp, generated: updatedAt }
relations:
  tracks: { kind: hasMany, type: Track, inverse: album, owned: true, nested: write }
  cover: { kind: hasOne, type: Cover, inverse: album, owned: true }
  label: { kind: belongsTo, type: Label, inverse: albums, nested: write }
  previous: { kind: belongsTo, type: Album, acyclic: true }
  tags: { kind: manyToMany, type: Tag, inverse: albums, nested: write }
  notes: { kind: hasMany, type: Note, inverse: album, nested: write }
`,
  'track.yaml': `type: Track
fields: { title: { type: string }, position: { type: integer } }
relations:
  album: { kind: belongsTo, type: Album, inverse: tracks, required: true }
  clips: { kind: hasMany, type: Clip, inverse: track, owned: true }
  guests: { kind: manyToMany, type: Tag }
unique: [[album, position]]
`,
  'clip.yaml': `type: Clip
fields: { text: { type: string } }
relations: { track: { kind: belongsTo, type: Track, inverse: clips } }
`,
  'cover.yaml': `type: Cover
fields: { color: { type: string, default: white } }
relations: { album: { kind: belongsTo, type: Album, inverse: cover } }
`,
  'label.yaml': `type: Label
open: true
fields: { name: { type: string } }
relations: { albums: { kind: hasMany, type: Album, inverse: label, nested: write } }
`,
  'tag.yaml': `type: Tag
fields: { word: { type: string } }
relations: { albums: { kind: manyToMany, type: Album, inverse: tags, nested: write } }
`,
  'note.yaml': `type: Note
fields: { text: { type: string } }
relations:
  album: { kind: belongsTo, type: Album, inverse: notes }
  track: { kind: belongsTo, type: Track, onDelete: setNull }
`,
};

const RECORDS: readonly (readonly [path: string, bodies: readonly JsonObject[]])[] = [
  ['tags', [{ word: 'loud' }, { word: 'new' }, { word: 'old' }]],
  ['labels', [{ name: 'Blue', since: 1939 }, { name: 'Red' }]],
  [
    'albums',
    [
      {
        name: 'A',
        rank: 1,
        code: 'One',
        label: { id: 1 },
        tags: [{ id: 1 }, { id: 2 }],
        cover: { color: 'red' },
        tracks: [
          { title: 'a1', position: 1, clips: [{ text: 'x' }, { text: 'y' }], guests: [{ id: 3 }] },
          { title: 'a2', position: 2 },
          { title: 'a3', position: 3 },
        ],
      },
      {
        name: 'B',
        rank: 2,
        code: 'Two',
        label: { id: 1 },
        previous: { id: 1 },
        tracks: [{ title: 'b1', position: 1 }],
      },
      { name: 'C', rank: 3 },
    ],
  ],
  ['notes', [{ text: 'n1', album: { id: 1 } }, { text: 'n2', album: { id: 1 }, track: { id: 1 } }, { text: 'n3' }]],
];

const at = (...ids: readonly number[]): JsonObject[] => ids.map((id) => ({ id }));

/** `albums` creates, `albums/1` updates, `albums/1 delete` deletes. */
const BODIES: readonly (readonly [path: string, body: unknown])[] = [
  ['albums', { name: 'new' }],
  ['albums', { id: 77, name: 'new' }],
  ['albums', { label: { id: 1 }, previous: { id: 2 } }],
  ['albums', { label: { name: 'Green', since: 2000 } }],
  ['albums', { tracks: [{ title: 'n1', clips: [{ text: 'c' }] }, { title: 'n2' }] }],
  ['albums', { tags: [{ id: 1 }, { word: 'fresh' }] }],
  ['albums', { cover: {}, notes: [{ text: 'new' }, { id: 3 }] }],
  [
    'albums',
    [
      { name: 'x', label: { name: 'first' } },
      { name: 'y', tags: [{ word: 'z' }] },
    ],
  ],
  ['albums', { notes: at(1) }],
  ['labels', { name: 'L', albums: [{ id: 3 }, { name: 'n', tracks: [{}] }] }],
  ['tags', { word: 'w', albums: [{ id: 1 }, { name: 'n', label: { name: 'l' } }] }],
  ['notes', { text: 'n', album: { id: 2 }, track: { id: 4 } }],
  ['albums/1', {}],
  ['albums/1', { name: 'A' }],
  ['albums/1', { name: 'changed' }],
  ['albums/1', { code: 'ONE' }],
  ['albums/1', { label: null }],
  ['albums/1', { label: { id: 2 } }],
  ['albums/1', { label: { id: 1, name: 'Azure' } }],
  ['albums/1', { label: { id: 1, since: 1940, until: 1990 } }],
  ['albums/1', { label: { name: 'made', albums: [{ id: 3 }] } }],
  ['albums/1', { tracks: [] }],
  ['albums/1', { tracks: at(1, 2, 3) }],
  ['albums/1', { tracks: at(2, 3) }],
  [
    'albums/1',
    {
      tracks: [
        { id: 1, title: 'changed' },
        { title: 'n', position: 4 },
      ],
    },
  ],
  ['albums/1', { tracks: [{ id: 1, position: 2 }, { id: 2, position: 1 }, { id: 3 }] }],
  [
    'albums/1',
    {
      tracks: [
        { id: 1, position: 2 },
        { id: 2, position: 3 },
        { id: 3, position: 1 },
      ],
    },
  ],
  ['albums/1', { tracks: [{ title: 'n', position: 1 }, { id: 2 }] }],
  ['albums/1', { tracks: [{ id: 1, position: 9 }, { title: 'n', position: 1 }, { id: 2 }, { id: 3 }] }],
  ['albums/1', { tracks: [{ id: 1, clips: [{ id: 2, text: 'z' }] }, ...at(2, 3)] }],
  ['albums/1', { tracks: [{ id: 1, guests: [] }, { id: 2, guests: at(1, 2) }, { id: 3 }] }],
  ['albums/1', { cover: null }],
  ['albums/1', { cover: { color: 'blue' } }],
  ['albums/2', { cover: { color: 'blue' } }],
  ['albums/1', { tags: [] }],
  ['albums/1', { tags: [{ id: 2, word: 'newer' }, { id: 3 }, { word: 'made' }] }],
  ['albums/1', { notes: [] }],
  ['albums/1', { notes: [{ id: 2, text: 'changed' }, { id: 3 }, { text: 'new' }] }],
  ['albums/2', { notes: at(1) }],
  ['albums/2', { previous: null, label: { id: 1, albums: at(2) } }],
  ['albums/3', { rank: 2, previous: { id: 2 } }],
  [
    'albums',
    [
      { id: 1, rank: 2 },
      { id: 2, rank: 1 },
    ],
  ],
  ['labels/1', { albums: [] }],
  [
    'labels/2',
    {
      albums: [
        { id: 1, tags: [], tracks: [] },
        { name: 'made', previous: { id: 3 } },
      ],
    },
  ],
  ['tags/1', { albums: [{ id: 2, name: 'changed' }] }],
  ['tags/3', { albums: [{ id: 1, tags: at(3) }] }],
  ['albums/1 delete', undefined],
  ['albums/2 delete', undefined],
  ['tags/1 delete', undefined],
  ['notes/1 delete', undefined],
];

let project: Project;
let model: Model;
let driver: Driver;
beforeAll(async () => {
  project = await createProject(FILES, undefined, 'sqlite');
  await project.serving(async (url) => {
    for (const [path, bodies] of RECORDS)
      for (const body of bodies) {
        const { status, body: record } = await ask(url, `POST /api/${path}`, body);
        expect({ status, record }).toMatchObject({ status: 201 });
      }
  });
  const { model: checked } = checkSchema(project.directory);
  if (!checked) throw new Error('the schema is faulty');
  model = checked;
  driver = await databaseAt(project.database.url).open();
});
afterAll(async () => {
  await driver.close();
  await project.remove();
});

const typeAt = (path: string): RecordType => {
  const type = [...model.types.values()].find((one) => one.path === path);
  if (!type) throw new Error(`no type at ${path}`);
  return type;
};

/** The stamps of plans are the same at each run. */
const CLOCK = (): Date => new Date(0);

async function planned(path: string, body: unknown): Promise<string> {
  const [, plural = '', id, isDeleted] = /^(\w+)(?:\/(\d+))?( delete)?$/.exec(path) ?? [];
  const type = typeAt(plural);
  const isArray = Array.isArray(body);
  const items = (isArray ? (body as JsonObject[]) : [body as JsonObject]).map((one, index) => ({
    body: one,
    pointer: isArray ? `/${index}` : '',
    identifier: id !== undefined ? Number(id) : isArray && 'id' in one ? Number(one['id']) : undefined,
  }));
  const tables = createTables({ ...driver.dialect, locks: false, lockOwnership: undefined }, () => model);
  const work = async (): Promise<string> =>
    driver.read(async (reader) => {
      const writer = onlyReading(reader);
      const stamp = createStamp(CLOCK, null);
      const transaction = {
        writer,
        reads: createReads(driver),
        tables,
        driver,
        writeRows: UNLIMITED_ROWS,
        isSearched: false,
      };
      const session = createSession(transaction, { stamp, items });
      if (isDeleted !== undefined) {
        const deletion = { type, identifiers: [Number(id)], pointer: '' };
        const { plan } = await planDeletion(
          session,
          ALL_ALLOWED,
          deletion,
          1000,
          () => new Problem('too-many-rows', ''),
        );
        return printPlan(plan);
      }
      await lockNamed(session, type, items);
      const { nodes, allowed } = await resolveBody(session, type);
      return printPlan(await planWrite(session, allowed, nodes));
    }, NO_CLIENT);
  return work().catch((error: unknown) => {
    if (error instanceof Problem) return `refused: ${error.message}`;
    throw error;
  });
}

test.each(BODIES)('%s %j', async (path, body) => {
  expect(await planned(path, body)).toMatchSnapshot();
});
