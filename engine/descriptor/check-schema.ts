/** All types of a schema against themselves and each other: the list of the checks. */
import { checkRequiredCycles } from './checks/cycles.ts';
import { checkDeletion } from './checks/deletion.ts';
import { checkFields } from './checks/fields.ts';
import { checkInverses } from './checks/inverses.ts';
import { checkMembers } from './checks/members.ts';
import { checkColumns, checkNames } from './checks/own-names.ts';
import { checkReachability } from './checks/reachability.ts';
import { checkRenames, checkTypeRenames } from './checks/renames.ts';
import { checkSeeds } from './checks/seeds.ts';
import { checkDefaultNames, checkPaths, checkTables, doubledTypes } from './checks/shared-names.ts';
import { checkTargets } from './checks/targets.ts';
import { checkVariants } from './checks/variants.ts';
import type { Check, Found, SchemaCheck } from './checks/check.ts';
import type { TypeDraft } from './draft.ts';
import { createSchema } from './schema.ts';

const checks: readonly Check[] = [
  checkFields,
  checkMembers,
  checkVariants,
  checkSeeds,
  checkRenames,
  checkDefaultNames,
  checkTargets,
  checkInverses,
  checkDeletion,
];
const schemaChecks: readonly SchemaCheck[] = [
  checkNames,
  checkPaths,
  checkTables,
  checkColumns,
  checkTypeRenames,
  checkRequiredCycles,
  checkReachability,
];

/** A second file for a type is a fault of its own; its content takes no part in the rest. */
export function checkSchema(types: readonly TypeDraft[], allNamed: boolean): readonly Found[] {
  const doubled = doubledTypes(types.filter(({ name }) => name !== ''));
  const second = new Set(doubled.map(([type]) => type));
  const schema = createSchema(
    types.filter((type) => !second.has(type)),
    allNamed,
  );
  const own = schema.types.flatMap((type) =>
    checks.flatMap((check) => check(type, schema)).map((one): Found => [type, one]),
  );
  return [...doubled, ...own, ...schemaChecks.flatMap((check) => check(schema))];
}
