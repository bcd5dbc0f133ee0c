/** Answers that are longer than any text can be. */
import type { IncomingMessage } from 'node:http';
import { problemAnswer } from '../../engine/http/problems.ts';
import { translate as ofPostgres } from '../../engine/storage/postgres/errors.ts';
import { translate as ofSqlite } from '../../engine/storage/sqlite/connection.ts';

const told = jest.fn();
const failed = { request: { headers: {} } as IncomingMessage, instance: '/api/things', requestId: 'id' };
const log = { debug: told, info: told, warn: told, error: told };

/** What is too long for the engine that runs this. */
function tooLong(): unknown {
  try {
    return 'x'.repeat(2 ** 28).repeat(4);
  } catch (error) {
    return error;
  }
}

test.each([
  ['a text that V8 does not hold', tooLong()],
  [
    'a value that SQLite does not hold',
    ofSqlite(Object.assign(new Error('string or blob too big'), { code: 'SQLITE_TOOBIG' }), 'no-file'),
  ],
  ['a value that PostgreSQL does not hold', ofPostgres(Object.assign(new Error('out of range'), { code: '54000' }))],
])('%s is no fault of the service: less can be asked for', (_, error) => {
  expect(problemAnswer(error, failed, log)).toMatchObject({
    status: 400,
    body: expect.stringContaining('"detail":"The answer would be too long; ask for fewer records'),
  });
  expect(told).not.toHaveBeenCalled();
});

test('other errors are', () => {
  expect(problemAnswer(new RangeError('something else'), failed, log).status).toBe(500);
  expect(told).toHaveBeenCalledTimes(1);
});
