/** The suite of a model: the cases of each record type, and those of the service. */
import type { Model } from '../model/model.ts';
import { createSamples } from './bodies.ts';
import type { Case } from './cases.ts';
import { type Deployment, protocolCases } from './protocol-cases.ts';
import { recordCases } from './record-cases.ts';
import { relationCases } from './relation-cases.ts';

/** `seed`: another one gives other values. */
export function suiteOf(
  model: Model,
  { seed = 0, ...deployment }: Deployment & { readonly seed?: number } = {},
): readonly Case[] {
  const samples = createSamples(model, seed);
  const types = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  return [
    ...protocolCases(samples, deployment),
    ...types.flatMap((type) => [...recordCases(samples, type), ...relationCases(samples, type)]),
  ];
}
