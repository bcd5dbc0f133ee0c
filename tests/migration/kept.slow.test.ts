/** Plans of random descriptors over tables that others have made, in any order: what stays, what is served of it, and what was renamed. */
import { expect, test } from '@jest/globals';
import { resolveModel } from '../../engine/model/resolve.ts';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import type { Model } from '../../engine/model/model.ts';
import { type AppliedModel, NO_MODEL } from '../../engine/storage/migrate/applied.ts';
import { followed } from '../../engine/storage/migrate/moves.ts';
import { placedModel } from '../../engine/storage/migrate/place.ts';
import { createPlan } from '../../engine/storage/migrate/plan.ts';
import { renamePlan } from '../../engine/storage/migrate/rename.ts';
import { servedModel } from '../../engine/storage/migrate/served.ts';
import { isDrop, type MigrationStep, type Plan, stepId } from '../../engine/storage/migrate/steps.ts';
import { sqliteDialect } from '../../engine/storage/sqlite/dialect.ts';
import type { Descriptor } from '../../engine/descriptor/descriptor.ts';
import { renameChoices, renamedSchema } from '../support/random-renames.ts';
import { randomSchema } from '../support/random-schema.ts';
import { drawn } from '../support/sample.ts';
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
        expect(servedModel(plan.model, plan.wanted).misfits).toEqual([]);

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
    { numRuns: drawn(40), endOnFailure: true },
  );
});

test.each([sqliteDialect, postgresDialect])(
  'renamed, and under the names of the descriptors at last ($name)',
  (dialect) => {
    fc.assert(
      fc.property(versions, turns, (schemas, order) => {
        const models = schemas.map((schema) => resolveModel(schema));
        const places = new Map<Model, AppliedModel>();
        let applied = NO_MODEL;
        for (const turn of order) {
          const model = models[turn % models.length] ?? models[0];
          if (!model) continue;
          const known = places.get(model);
          const own = known && followed(known, applied);
          const first = createPlan(applied, model, dialect, undefined, own);
          const plan = createPlan(applied, model, dialect, new Set(drops(first)), own);
          const renamed = renamePlan(
            { ...createPlan(plan.wanted, model, dialect), applied: plan.wanted },
            model,
            dialect,
          );
          applied = turn % 2 === 0 && renamed.steps.length > 0 ? renamed.wanted : plan.wanted;
          places.set(model, applied);
          const again = createPlan(applied, model, dialect, undefined, applied);
          expect([again.steps, again.kept]).toEqual([[], []]);
          expect(servedModel(again.model, applied).misfits).toEqual([]);
          if (renamed.steps.length === 0 || turn % 2 !== 0) continue;
          expect(renamePlan(again, model, dialect).steps).toEqual([]);
        }
      }),
      { numRuns: drawn(15), endOnFailure: true },
    );
  },
);

/** Names of columns that were another one's before. */
const taken = (before: AppliedModel, after: AppliedModel): readonly string[] =>
  Object.entries(before.types).flatMap(([name, { table, fields }]) => {
    const now = after.types[name];
    if (now?.table !== table) return [];
    return Object.entries(now.fields).flatMap(([field, { column }]) =>
      Object.entries(fields).some(([other, was]) => other !== field && was.column === column) ? [column] : [],
    );
  });

const RENAMES = new Set(['rename-type', 'rename-identifier', 'rename-field', 'rename-relation']);

const renamings = fc.array(renameChoices, { minLength: 2, maxLength: 5 });

test.each([sqliteDialect, postgresDialect])('every version finds what was renamed ($name)', (dialect) => {
  fc.assert(
    fc.property(randomSchema, renamings, fc.array(fc.boolean(), { minLength: 5 }), (first, choices, tidy) => {
      const closed = first.map((descriptor) => ({ ...descriptor, open: false }));
      const schemas: (readonly Descriptor[])[] = [closed];
      for (const choice of choices) schemas.push(renamedSchema(schemas.at(-1) ?? [], choice));
      const models = schemas.map((schema) => resolveModel(schema));
      const places: AppliedModel[] = [];
      let applied = NO_MODEL;
      const serveAll = (): void => {
        for (const [version, own] of places.entries()) {
          const model = models[version];
          if (!model) continue;
          const placed = placedModel(model, applied, followed(own, applied));
          expect([version, servedModel(placed, applied).misfits]).toEqual([version, []]);
        }
      };
      for (const [version, model] of models.entries()) {
        const plan = createPlan(applied, model, dialect);
        if (version > 0) {
          expect(plan.steps.filter(({ code }) => !RENAMES.has(code))).toEqual([]);
          expect([plan.kept, columnsOf(plan.wanted)]).toEqual([[], columnsOf(applied)]);
        }
        applied = plan.wanted;
        places.push(applied);
        serveAll();
        if (tidy[version] !== true) continue;
        const renamed = renamePlan(createPlan(applied, model, dialect, undefined, applied), model, dialect);
        const before = applied;
        if (renamed.steps.length > 0) applied = renamed.wanted;
        expect(renamePlan(createPlan(applied, model, dialect, undefined, applied), model, dialect).steps).toEqual([]);
        expect(taken(before, applied)).toEqual([]);
        places[version] = applied;
        serveAll();
      }
      for (const version of [0, 1]) {
        const [model, own] = [models[version], places[version]];
        if (!model || !own) continue;
        const { steps, kept, wanted } = createPlan(applied, model, dialect, undefined, followed(own, applied));
        expect([steps.filter(({ code }) => !RENAMES.has(code)), kept]).toEqual([[], []]);
        applied = wanted;
        places[version] = applied;
        serveAll();
      }
    }),
    { numRuns: drawn(15), endOnFailure: true },
  );
});

test.each([sqliteDialect, postgresDialect])('types that exchange their tables ($name)', (dialect) => {
  const before = resolveModel([{ type: 'One' }, { type: 'Two' }]);
  const after = resolveModel([
    { type: 'One', table: 'twos' },
    { type: 'Two', table: 'ones' },
  ]);
  const { wanted } = createPlan(NO_MODEL, before, dialect);
  const plan = createPlan(wanted, after, dialect);
  expect(plan.steps).toEqual([]);
  // A name that something has is not given to anything else: statements that were compiled before would find it.
  expect(renamePlan(plan, after, dialect).steps).toEqual([]);
});
