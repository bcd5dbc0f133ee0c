/** Inserts each seed record once per database. It is remembered, so that users may change and delete the record. */
import { wholeBody } from '../model/bodies.ts';
import type { Model, RecordType } from '../model/model.ts';
import { Problem } from '../problem.ts';
import { StartError } from '../start-error.ts';
import type { Driver, Statement, Writer } from './driver.ts';
import { SEED_TABLE } from './engine-tables.ts';
import type { Writes } from './write/writes.ts';

const DONE: Statement = { sql: `select identifier from ${SEED_TABLE} where type = ?` };
const REMEMBER: Statement = { sql: `insert into ${SEED_TABLE} (type, identifier) values (?, ?)` };

export async function seed(model: Model, driver: Driver, writes: Writes): Promise<void> {
  const types = referredFirst([...model.types.values()]).filter((type) => type.seed.length > 0);
  if (types.length === 0) return;
  await driver.write(async (writer) => {
    for (const type of types) await seedType(type, writer, writes);
  });
}

async function seedType(type: RecordType, writer: Writer, writes: Writes): Promise<void> {
  const done = new Set(await writer.column(DONE, [type.name]));
  for (const body of type.seed) {
    const identifier = Number(body[type.identifier.name]);
    if (done.has(identifier)) continue;
    try {
      await writes.insert(
        writer,
        { type, items: [wholeBody(body)], raw: type.seedRaw, author: null },
        { mergePatch: false, readOnlyToo: true },
      );
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const reasons = error.errors.length > 0 ? error.errors.map(({ message }) => message) : [error.message];
      throw new StartError(`Seed record ${identifier} of ${type.name} cannot be inserted: ${reasons.join('; ')}`);
    }
    await writer.run(REMEMBER, [type.name, identifier]);
  }
}

/** Types come after those that they refer to, unless they refer to each other in circles. */
export function referredFirst(types: readonly RecordType[]): readonly RecordType[] {
  const ordered = new Set<RecordType>();
  const visiting = new Set<RecordType>();
  const visit = (type: RecordType): void => {
    if (ordered.has(type) || visiting.has(type)) return;
    visiting.add(type);
    for (const { target } of type.references) visit(target);
    ordered.add(type);
  };
  for (const type of types) visit(type);
  return [...ordered];
}
