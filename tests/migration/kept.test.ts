/** Plans of random descriptors over tables that others have made, in any order: what stays, and what is served of it. */
import { expect, test } from '@jest/globals';
import { resolveModel } from '../../engine/model/resolve.ts';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import { type AppliedModel, NO_MODEL } from '../../engine/storage/migrate/applied.ts';
import { createPlan } from '../../engine/storage/migrate/plan.ts';
import { servedModel } from '../../engine/storage/migrate/served.ts';
import { isDrop, type MigrationStep, type Plan, stepId } from '../../engine/storage/migrate/steps.ts';
import { sqliteDialect } from '../../engine/storage/sqlite/dialect.ts';
import { StartError } from '../../engine/start-error.ts';
import { randomSchema } from '../support/random-schema.ts';
import fc from '../support/fast-check.ts';

const drops = ({ steps, kept }: Plan): readonly string[] => [...steps, ...kept].filter(isDrop).map(stepId);
const ids = (steps: readonly MigrationStep[]): readonly string[] => steps.map(stepId).toSorted();

/** Every table with its columns. */
const columnsOf = ({ types, joins }: AppliedModel): readonly string[] =>
  [
    ...Object.values(types).flatMap(({ table, fields, references }) =>
      [...Object.values(fields), ...references].map(({ column }) => `${table}.${column}`),
    ),
    ...joins.map(({ table }) => table),
  ].toSorted();

const versions = fc.array(randomSchema, { minLength: 2, maxLength: 4 });
const turns = fc.array(fc.nat(3), { minLength: 3, maxLength: 8 });

test.each([sqliteDialect, postgresDialect])('one after the other ($name)', (dialect) => {
  fc.assert(
    fc.property(versions, turns, (schemas, order) => {
      const models = schemas.map((schema) => resolveModel(schema));
      let applied = NO_MODEL;
      for (const turn of order) {
        const model = models[turn % models.length] ?? models[0];
        if (!model) continue;
        const plan = createPlan(applied, model, dialect);
        const made = new Set(plan.steps.filter(isDrop).map(stepId));
        // Nothing goes but what a step drops by name; links may get other columns.
        if (made.size === 0) expect(columnsOf(plan.wanted).length).toBeGreaterThanOrEqual(columnsOf(applied).length);
        const again = createPlan(plan.wanted, model, dialect);
        // A link that was matched by its other side may be named as kept only afterwards.
        expect([again.steps, ids(again.kept)]).toEqual([[], expect.arrayContaining([...ids(plan.kept)])]);
        expect(servedModel(model, plan.wanted).misfits).toEqual([]);

        const all = new Set(drops(plan));
        const exact = createPlan(applied, model, dialect, all);
        expect(exact.kept).toEqual([]);
        const after = createPlan(exact.wanted, model, dialect);
        expect([after.steps, after.kept]).toEqual([[], []]);
        for (const id of all) {
          const one = createPlan(applied, model, dialect, new Set([id]));
          expect([...one.steps, ...one.kept].map(stepId)).toContain(id);
        }
        applied = plan.wanted;
      }
    }),
    { numRuns: Number(process.env['RUNS'] ?? 40), endOnFailure: true },
  );
});

test('types that exchange their tables are refused by name', () => {
  const before = resolveModel([{ type: 'One' }, { type: 'Two' }]);
  const after = resolveModel([
    { type: 'One', table: 'twos' },
    { type: 'Two', table: 'ones' },
  ]);
  const { wanted } = createPlan(NO_MODEL, before, sqliteDialect);
  expect(() => createPlan(wanted, after, sqliteDialect)).toThrow(StartError);
});
