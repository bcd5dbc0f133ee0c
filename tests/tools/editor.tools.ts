/** What an editor shows of descriptors: the real language server, over its protocol, with the published grammar. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { shippedFiles } from '../support/shipped.ts';

const SERVER = 'tests/tools/node_modules/yaml-language-server/bin/yaml-language-server';
const MODELINE = '# yaml-language-server: $schema=../engine/descriptor/descriptor.schema.json';

interface Report {
  readonly message: string;
  readonly range: { readonly start: { readonly line: number; readonly character: number } };
}

interface Item {
  readonly label: string;
  readonly documentation?: string | { readonly value: string };
}

let child: ChildProcess;
let connection: MessageConnection;
const reports = new Map<string, (found: readonly Report[]) => void>();

beforeAll(async () => {
  const server = spawn(process.execPath, [SERVER, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child = server;
  connection = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  connection.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics }) =>
    reports.get(uri)?.(diagnostics),
  );
  connection.onRequest('workspace/configuration', ({ items }: { items: readonly unknown[] }) =>
    items.map((_, index) => (index === 0 ? { validate: true, completion: true, hover: true } : {})),
  );
  connection.onRequest('client/registerCapability', () => null);
  connection.listen();
  const rootUri = pathToFileURL(resolve('.')).href;
  const capabilities = { textDocument: { completion: {}, hover: {} }, workspace: { configuration: true } };
  await connection.sendRequest('initialize', { processId: process.pid, rootUri, capabilities, workspaceFolders: null });
  await connection.sendNotification('initialized', {});
});

afterAll(() => {
  connection.dispose();
  child.kill();
});

let opened = 0;

/** `|` marks the cursor. The first line says where the grammar is, unless the text does. */
async function open(text: string, file = `schema/editor-${opened++}.yaml`) {
  const marked = text.startsWith('#') ? text : `${MODELINE}\n${text}`;
  const before = marked.split('|')[0] ?? '';
  const uri = pathToFileURL(resolve(file)).href;
  const found = new Promise<readonly Report[]>((settle) => reports.set(uri, settle));
  const textDocument = { uri, languageId: 'yaml', version: 1, text: marked.replace('|', '') };
  await connection.sendNotification('textDocument/didOpen', { textDocument });
  const lines = before.split('\n');
  const position = { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 };
  return { found, at: { textDocument: { uri }, position } };
}

async function completed(text: string): Promise<readonly string[]> {
  const { at } = await open(text);
  const { items } = await connection.sendRequest<{ items: readonly Item[] }>('textDocument/completion', at);
  return items.map(({ label }) => label);
}

async function hovered(text: string): Promise<string> {
  const { at } = await open(text);
  const hover = await connection.sendRequest<{ contents: { value: string } } | null>('textDocument/hover', at);
  return hover?.contents.value ?? '';
}

const FIELDS = 'type: Book\nfields:\n';

describe('completion', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['type: Book\n|', ['fields', 'relations', 'operations', 'seed', 'renamedFrom'], ['kind', 'maxLength']],
    [
      `${FIELDS}  title:\n    type: string\n    |`,
      ['maxLength', 'pattern', 'unique', 'default', 'renamedFrom'],
      ['scale', 'kind'],
    ],
    [
      `${FIELDS}  price:\n    type: decimal\n    |`,
      ['precision', 'scale', 'minimum', 'required'],
      ['maxLength', 'kind'],
    ],
    [`${FIELDS}  tags:\n    type: array\n    |`, ['minItems', 'maxItems', 'items'], ['unique', 'index', 'maxLength']],
    ['type: Book\nchecks:\n  - |', ['must', 'when', 'message', 'at'], ['gte', 'fields']],
    ['type: Book\nchecks:\n  - must:\n      price:\n        |', ['gte', 'in', 'null', 'like'], ['must', 'field']],
    [`${FIELDS}  title:\n    type: |`, ['string', 'integer', 'decimal', 'timestamp'], ['belongsTo']],
    ['type: Book\nrelations:\n  author:\n    kind: |', ['belongsTo', 'hasOne', 'hasMany', 'manyToMany'], ['string']],
    [
      'type: Book\nrelations:\n  author:\n    kind: belongsTo\n    |',
      ['type', 'inverse', 'onDelete', 'required'],
      ['owned', 'through'],
    ],
    [
      'type: Book\nrelations:\n  tags:\n    kind: manyToMany\n    |',
      ['through', 'inverse'],
      ['onDelete', 'required', 'column'],
    ],
    ['type: Book\noperations:\n  - |', ['list', 'get', 'create', 'update', 'delete'], []],
    ['type: Book\npreconditions: |', ['off', 'optional', 'required'], []],
  ])('%j', async (text, offered, others) => {
    const labels = await completed(text);
    expect(labels).toEqual(expect.arrayContaining([...offered]));
    expect(labels.filter((label) => others.includes(label))).toEqual([]);
  });
});

describe('hover', () => {
  test.each([
    ['type: Book\nop|en: true', 'Whether records accept, store and show keys'],
    [`${FIELDS}  price:\n    type: decimal\n    sca|le: 2`, 'digits after the decimal point'],
    [
      'type: Book\nrelations:\n  author:\n    kind: belongsTo\n    type: Author\n    on|Delete: cascade',
      'when the related record is deleted',
    ],
  ])('%j', async (text, says) => {
    expect(await hovered(text)).toContain(says);
  });
});

describe('mistakes', () => {
  test.each<[string, string, string]>([
    [`${FIELDS}  title:\n    type: string\n    maxLenght: 3`, '5:4', 'Property maxLenght is not allowed.'],
    ['type: Book\nfeilds: {}', '2:0', 'Property feilds is not allowed.'],
    [`${FIELDS}  title: { type: strnig }`, '3:17', 'Value is not accepted.'],
    ['type: Book\nopen: maybe', '2:6', 'Incorrect type. Expected "boolean".'],
    ['fields: {}', '1:0', 'Missing property "type".'],
  ])('%j', async (text, place, says) => {
    const { found } = await open(text);
    const shown = (await found).map(({ message, range }) => `${range.start.line}:${range.start.character} ${message}`);
    expect(shown).toContainEqual(expect.stringContaining(`${place} ${says}`));
  });
});

describe('each shipped descriptor', () => {
  test.each(shippedFiles)('%s points at the grammar', (file) => {
    const [, path = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(file, 'utf8')) ?? [];
    expect(resolve(dirname(file), path)).toBe(resolve('engine/descriptor/descriptor.schema.json'));
  });

  test('has no mistake', async () => {
    const found = await Promise.all(
      shippedFiles.map(async (file) => [file, await (await open(readFileSync(file, 'utf8'), file)).found]),
    );
    expect(found).toEqual(shippedFiles.map((file) => [file, []]));
  });

  test('has one where a key is misspelt', async () => {
    const found = await Promise.all(
      shippedFiles.map(async (file) => {
        const text = readFileSync(file, 'utf8').replace(/^(fields|open|relations):/m, 'feilds:');
        const reported = await (await open(text, file.replace('.yaml', '-misspelt.yaml'))).found;
        return [file, reported.some(({ message }) => message.includes('feilds'))];
      }),
    );
    expect(found).toEqual(shippedFiles.map((file) => [file, true]));
  });
});
