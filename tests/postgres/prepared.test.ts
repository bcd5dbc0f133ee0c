/** Statements that the server keeps prepared: their texts, and so its memory, are bounded on each connection. */
import type { Driver } from '../../engine/storage/driver.ts';
import { openPostgres } from '../../engine/storage/postgres/driver.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { onServer, withParameters } from '../support/postgres.ts';

const MOST_CHARS = 2 * 256 * 1024;

onServer('a connection', () => {
  let database: TestDatabase;
  let driver: Driver;

  beforeAll(async () => {
    database = await createDatabase('postgres');
    driver = await openPostgres(withParameters(database.url, { pool: '1' }));
  });
  afterAll(async () => {
    await driver?.close();
    await database?.remove();
  });

  const kept = async (): Promise<readonly unknown[]> => {
    const sql = 'select count(*)::int, coalesce(sum(length(statement)), 0)::int from pg_prepared_statements';
    return (await driver.get({ sql }, [])) ?? [];
  };
  /** `length`: of its text, about. */
  const statement = (number: number, length: number) => ({
    sql: `select ? || ' ${number}' as a /* ${'x'.repeat(length)} */ where true`,
  });

  it.each([
    [1000, 2000],
    [100, 60_000],
    [20, 100_000],
  ])('keeps not all of %d statements of %d characters, and answers each', async (count, length) => {
    const all = Array.from({ length: count }, (_, number) => statement(number, length));
    for (let round = 0; round < 2; round += 1)
      for (const [number, one] of all.entries()) {
        expect(await driver.value(one, ['is'])).toBe(`is ${number}`);
        if (number % 50 === 0) expect((await kept())[1]).toBeLessThanOrEqual(MOST_CHARS);
      }
    expect((await kept())[1]).toBeLessThanOrEqual(MOST_CHARS);
  });

  it('keeps the statements that a service asks again and again', async () => {
    const few = Array.from({ length: 20 }, (_, number) => statement(5000 + number, 2000));
    for (const one of few) await driver.value(one, ['a']);
    const [before] = await kept();
    for (let round = 0; round < 5; round += 1) for (const one of few) await driver.value(one, ['a']);
    expect(await kept()).toEqual([before, expect.anything()]);
  });

  it('goes on after statements that fail, in transactions as well', async () => {
    for (let round = 0; round < 400; round += 1) {
      const good = statement(10_000 + round, 2000);
      const broken = { sql: `${statement(round, 2000).sql} and nothing` };
      await expect(Promise.resolve(driver.value(broken, ['a']))).rejects.toThrow();
      const written = driver.write(async (writer) => {
        await writer.value(good, ['is']);
        const failing = Promise.resolve(writer.value({ sql: `${good.sql} and 1 / ?::int = 1` }, ['a', 0]));
        const [, text] = await Promise.allSettled([failing, writer.value(good, ['is'])]);
        throw new Error(text.status);
      });
      await expect(written).rejects.toThrow('rejected');
      expect(await driver.value(good, ['is'])).toBe(`is ${10_000 + round}`);
    }
    expect((await kept())[1]).toBeLessThanOrEqual(MOST_CHARS);
  });
});
