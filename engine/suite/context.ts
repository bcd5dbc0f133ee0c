/** What a generator of cases is given, and the frame that each of its cases stands in. */
import type { Field, Model, RecordType } from '../model/model.ts';
import type { Case } from './case.ts';
import type { Deployment } from './deployment.ts';
import type { Seeds } from './samples.ts';
import { finish } from './finish.ts';
import { type Scenario, startScenario, Unreachable } from './scenario.ts';

export interface Context {
  readonly model: Model;
  readonly type: RecordType;
  readonly seeds: Seeds;
  readonly deployment: Deployment;
}

/** The cases of one kind for one record type. */
export type Generator = (context: Context) => readonly Case[];

type Build = (scenario: Scenario) => void;

/** One case, or none where no request can make the records that it needs. */
export function caseOf({ model, type, seeds }: Context, group: string, title: string, build: Build): Case[] {
  const scenario = startScenario(model, seeds);
  try {
    build(scenario);
  } catch (error) {
    if (error instanceof Unreachable) return [];
    throw error;
  }
  return [finish(scenario, { type: type.name, group, title })];
}

/** For cases that delete what cannot be made again. */
export const irreversible = (cases: readonly Case[]): Case[] => cases.map((one) => ({ ...one, irreversible: true }));

const MAX_FIELDS = 45;

/** Where a type has very many fields, one of several stands for its neighbours. An odd stride meets patterns of any shape. */
export function representative(fields: readonly Field[]): readonly Field[] {
  const stride = Math.ceil(fields.length / MAX_FIELDS);
  const odd = stride + 1 - (stride % 2);
  return fields.filter((_, index) => index % odd === 0);
}
