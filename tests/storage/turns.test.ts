/** What one turn of the event loop takes: requests together, lists a few at a time; and connections that send in unusual ways. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { PATIENT } from '../../engine/caller.ts';
import { connect as connectTo } from '../../engine/storage/sqlite/connection.ts';
import { createTurnReader, type TurnReader } from '../../engine/storage/sqlite/turn-reader.ts';
import { exchange } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const HEAD = 'HTTP/1.1\r\nHost: localhost\r\n';

describe('connections', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/http' });
    for (const name of ['one', 'two'])
      await exchange(server.url, 'POST /api/gadgets', { headers: JSON_BODY, body: JSON.stringify({ name }) });
  });
  afterAll(() => server.close());

  /** All that comes back to a text, after which the client closes its side. */
  async function answerTo(text: string): Promise<string> {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname).setEncoding('latin1');
    let answer = '';
    socket.on('data', (piece: string) => (answer += piece)).end(text);
    await once(socket, 'close');
    return answer;
  }

  test.each([
    ['GET', `GET /api/gadgets/1?fields=name ${HEAD}\r\n`, '200'],
    ['GET of a list', `GET /api/gadgets?fields=name ${HEAD}\r\n`, '200'],
    ['POST', `POST /api/gadgets ${HEAD}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`, '201'],
    ['GET that expects something', `GET /api/gadgets/1?fields=name ${HEAD}Expect: something\r\n\r\n`, '200'],
    ['GET of a page', `GET /openapi.json ${HEAD}\r\n`, '200'],
  ])('%s is answered to a client that has closed its side', async (_, text, status) => {
    expect(await answerTo(text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  test('requests in one piece are answered in their order', async () => {
    const paths = [
      'gadgets/1?fields=name',
      'gadgets/9',
      'gadgets/2?fields=name',
      'gadgets?_cnd[limit]=0&_cnd[limit]=1&fields=name',
    ];
    const answer = await answerTo(paths.map((path) => `GET /api/${path} ${HEAD}\r\n`).join(''));
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)|"name":"(\w+)"/gm)].map(([, status, name]) => status ?? name)).toEqual(
      ['200', 'one', '404', '200', 'two', '200', 'one'],
    );
  });
});

describe('lists of one turn', () => {
  let directory: string;
  let reader: TurnReader;
  /** Milliseconds; only lists make it move. */
  let time = 0;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'turns-'));
    const file = join(directory, 'records.db');
    new Database(file).exec('create table t (id integer primary key)').close();
    reader = createTurnReader(connectTo(file, true), () => time);
  });
  afterAll(() => {
    reader.close();
    rmSync(directory, { recursive: true });
  });

  /** A list that takes this many milliseconds. */
  const list = (milliseconds: number, done: () => void): unknown =>
    reader.inTurn(() => {
      reader.column({ sql: 'select 1' }, []);
      time += milliseconds;
      done();
    }, PATIENT);

  test('are read at once, until they have taken their share; who asks for less does not wait for the rest', async () => {
    const done: string[] = [];
    list(1, () => done.push('short'));
    list(20, () => done.push('long'));
    const late = [1, 2, 3].map((number) => list(20, () => done.push(`late ${number}`)));
    expect(done).toEqual(['short', 'long']);
    await nextTurn();
    reader.value({ sql: 'select 1' }, []);
    done.push('record');
    await Promise.all(late);
    expect(done).toEqual(['short', 'long', 'record', 'late 1', 'late 2', 'late 3']);
  });

  test('one that fails later fails alone', async () => {
    list(20, () => undefined);
    const failing = reader.inTurn(() => {
      throw new Error('this one');
    }, PATIENT);
    const other = reader.inTurn(() => 'another', PATIENT);
    await expect(failing).rejects.toThrow('this one');
    await expect(other).resolves.toBe('another');
  });
});
