/** What the cases about nested writes have in common: a relation, and bodies for it. */
import type { JsonObject, JsonValue } from '../../json.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { newChild } from '../nested-samples.ts';
import { related } from '../reference/links.ts';
import { type Id, rowOf } from '../reference/world.ts';
import { collectionPath, linkTo } from '../addresses.ts';
import { fullBody, obtain } from '../obtain.ts';
import { type Scenario } from '../scenario.ts';

const GROUP = 'relations';

export interface Subject {
  readonly context: Context;
  readonly type: RecordType;
  readonly relation: Relation;
}

type Build = (scenario: Scenario) => void;

export const scene = ({ context, type, relation }: Subject, title: string, build: Build): Case[] =>
  caseOf(context, GROUP, `${collectionPath(type)} ${relation.name}: ${title}`, build);

/** A body for one related record: new where the relation writes, else a link to one that is made first. */
export const childBody = (scenario: Scenario, { relation, type }: Subject): JsonObject =>
  relation.nested === 'write'
    ? newChild(scenario, relation, [type])
    : linkTo(relation.target, obtain(scenario, relation.target));

export const inSet = ({ relation }: Subject, ...bodies: readonly JsonObject[]): JsonValue =>
  relation.toMany ? bodies : (bodies[0] ?? null);

export const bodyWith = (scenario: Scenario, subject: Subject, value: JsonValue): JsonObject => ({
  ...fullBody(scenario, subject.type),
  [subject.relation.name]: value,
});

/** The identifiers that the record has in the relation, as the reference model knows them. */
export function targetsOf(scenario: Scenario, { type, relation }: Subject, id: Id): Id[] {
  const row = rowOf(scenario.reference.world, type, id);
  return row === undefined ? [] : related(scenario.reference.world, relation, row).map((target) => target.id);
}
