/** Inserts each seed record once per database. It is remembered, so that users may change and delete the record. */
import type { JsonObject } from '../json/json.ts';
import { newItems } from '../model/bodies.ts';
import type { Model, RecordType } from '../model/model.ts';
import { Problem, StartError } from '../problem.ts';
import type { Driver, Statement, Writer } from './driver.ts';
import { SEED_TABLE } from './tables.ts';
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
  const identifierOf = (body: JsonObject): number => Number(body[type.identifier.name]);
  // Together, so that they may refer to each other.
  const bodies = type.seed.filter((body) => !done.has(identifierOf(body)));
  if (bodies.length === 0) return;
  try {
    await writes.insert(
      writer,
      { type, items: newItems(bodies), raw: type.seedRaw, author: null },
      { mergePatch: false, readOnlyToo: true },
    );
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new StartError(reasonsOf(error, type, bodies.map(identifierOf)));
  }
  for (const body of bodies) await writer.run(REMEMBER, [type.name, identifierOf(body)]);
}

/** A line for each record that is refused. */
function reasonsOf({ errors, message }: Problem, { name }: RecordType, identifiers: readonly number[]): string {
  const reasons = Map.groupBy(errors, (fault) => {
    const [, index] = /^\/(\d+)/.exec('pointer' in fault ? fault.pointer : '') ?? [];
    return index === undefined ? undefined : identifiers[Number(index)];
  });
  if (reasons.size === 0) return `Seed records of ${name} cannot be inserted: ${message}`;
  return [...reasons]
    .map(([identifier, faults]) => {
      const who = identifier === undefined ? `Seed records of ${name}` : `Seed record ${identifier} of ${name}`;
      return `${who} cannot be inserted: ${faults.map((fault) => fault.message).join('; ')}`;
    })
    .join('\n');
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
