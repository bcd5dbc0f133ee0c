/** A case in the making: requests, each with what it must answer. */
import type { Model } from '../model/model.ts';
import type { Expectation, ExpectedProblem, Request, Step } from './case.ts';
import { createReference, type Reference } from './reference/reference.ts';
import type { Seeds } from './samples.ts';

/** A case in the making. */
export interface Scenario {
  readonly model: Model;
  readonly reference: Reference;
  readonly seeds: Seeds;
  readonly steps: Step[];
}

/** The model offers no request that makes such a record: whoever generates cases leaves this one out. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export const startScenario = (model: Model, seeds: Seeds): Scenario => ({
  model,
  seeds,
  reference: createReference(),
  steps: [],
});

export function step(
  scenario: Scenario,
  request: Request,
  expect: Expectation,
  changes: readonly string[] | undefined = [],
  more: Pick<Step, 'given' | 'attempts'> = {},
): void {
  scenario.steps.push({ ...more, request, expect, changes });
}

/** A request that is refused and changes nothing. */
export function refused(scenario: Scenario, request: Request, status: number, problem: ExpectedProblem = {}): void {
  step(scenario, request, { status, problem });
}
