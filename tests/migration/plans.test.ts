/** Changes of descriptors, each with its plan as SQL of both databases, so that a review shows what becomes of plans. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_MODEL } from '../../engine/storage/migrate/applied.ts';
import { createPlan } from '../../engine/storage/migrate/plan.ts';
import { stepId } from '../../engine/storage/migrate/steps.ts';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import { sqliteDialect } from '../../engine/storage/sqlite/dialect.ts';
import type { Dialect } from '../../engine/storage/dialect.ts';
import { readModel } from '../../engine/commands/command.ts';
import type { Model } from '../../engine/model/model.ts';
import { fieldScenarios } from './fields.ts';
import { relationScenarios } from './relations.ts';
import { typeScenarios } from './types.ts';

const scenarios = [...fieldScenarios, ...relationScenarios, ...typeScenarios];

const LONGEST = 240;
/** SQL that folds case lists thousands of characters. */
const cut = (text: string): string =>
  text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${text.length} characters)`;

type Plan = ReturnType<typeof createPlan>;

const printed = ({ steps, kept }: Plan, dialect: Dialect): string => {
  const lines = [...steps, ...kept].flatMap((step) => [
    `${kept.includes(step) ? '-' : step.risk === 'safe' ? ' ' : '!'} ${stepId(step)}  ${step.description}`,
    ...step.checks.map(
      ({ effect, says, sql, accepts }) => `    ${effect}: ${says}${accepts ? ', unless it fits' : ''}: ${cut(sql)}`,
    ),
    ...(kept.includes(step) ? [] : step.tasks.map(({ kind, sql }) => `    ${kind}: ${cut(sql)}`)),
  ]);
  return [dialect.name, ...lines].join('\n  ');
};

function modelOf(files: Readonly<Record<string, string | null>>): Model {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  try {
    for (const [name, text] of Object.entries(files))
      if (text !== null) writeFileSync(join(directory, `${name}.yaml`), text);
    return readModel(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test.each(scenarios)('$title', ({ before, after }) => {
  const [was, is] = [modelOf(before), modelOf({ ...before, ...after })];
  const plans = [sqliteDialect, postgresDialect].map((dialect) => {
    const { wanted: applied } = createPlan(was, { applied: NO_MODEL, own: undefined }, dialect);
    const plan = createPlan(is, { applied, own: undefined }, dialect);
    const drops = new Set(plan.kept.map(stepId));
    const dropping = createPlan(is, { applied, own: undefined }, dialect, drops);
    return [
      printed(plan, dialect),
      ...(drops.size > 0 ? ['and the drops allowed:', printed(dropping, dialect)] : []),
    ].join('\n');
  });
  expect(`\n${plans.join('\n')}\n`).toMatchSnapshot();
});
