/** Gathers what the picture shows from a running service that serves the descriptor in README.md. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { parse } from 'yaml';
import { readBlocks } from '../support/examples.ts';
import { startTestServer } from '../support/server.ts';

export interface Scene {
  readonly descriptor: string;
  /** Each path with its methods. */
  readonly routes: readonly (readonly [path: string, methods: readonly string[]])[];
  readonly table: { readonly name: string; readonly columns: readonly string[]; readonly row: readonly string[] };
  readonly created: Exchange;
  readonly refused: Exchange;
}

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

const GOOD = '{"code": "SPRING", "balance": "25.50"}';
const MISTAKEN = '{"blance": "10.00"}';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

export async function readScene(): Promise<Scene> {
  const block = readBlocks(readFileSync('README.md', 'utf8')).find(({ language }) => language === 'yaml');
  const descriptor = block?.text ?? '';
  const { type } = parse(descriptor) as { type: string };
  const folder = mkdtempSync(join(tmpdir(), 'picture-'));
  cpSync('schema', folder, { recursive: true });
  writeFileSync(join(folder, 'gift-card.yaml'), descriptor);
  const server = await startTestServer({ schemaDirectory: folder, kind: 'sqlite', settings: { logLevel: 'silent' } });
  try {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { tags?: readonly string[] }>>;
    };
    const routes = Object.entries(document.paths)
      .map(([path, item]) => [path, METHODS.filter((method) => item[method]?.tags?.includes(type))] as const)
      .filter(([, methods]) => methods.length > 0);
    const path = routes[0]?.[0] ?? '';
    const send = async (method: string, target: string, body: string): Promise<Exchange> => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(server.url + target, { method, headers, body });
      return {
        method,
        path: target,
        body,
        status: response.status,
        answer: (await response.json()) as Exchange['answer'],
      };
    };
    const created = await send('POST', path, GOOD);
    const refused = await send('PATCH', `${path}/1`, MISTAKEN);
    return { descriptor, routes, table: readTable(server.database.url, 'gift_cards'), created, refused };
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

function readTable(url: string, name: string): Scene['table'] {
  const database = new Database(url.replace('sqlite:', ''), { readonly: true });
  try {
    const row = database.prepare(`select * from ${name}`).get() as Record<string, unknown>;
    return { name, columns: Object.keys(row), row: Object.values(row).map((value) => String(value ?? 'NULL')) };
  } finally {
    database.close();
  }
}
