/** Seed records: each has an identifier of its own and only keys that the type knows. What their values must be, validators say. */
import type { JsonObject } from '../../json.ts';
import type { TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import { type Check, repeated, unknownField } from './check.ts';

export const checkSeeds: Check = (type) => {
  const seeds = type.draft.seed ?? [];
  const identifiers = seeds.map((seed) => (Object.hasOwn(seed, type.identifier) ? seed[type.identifier] : undefined));
  const doubled = repeated(identifiers).filter((index) => isIdentifier(identifiers[index]));
  return [
    ...seeds.flatMap((seed, index) => [
      ...checkIdentifier(type, identifiers[index], index),
      ...checkKeys(type, seed, index),
    ]),
    ...doubled.map((index) =>
      finding(
        'doubled-seed',
        ['seed', index, type.identifier],
        'value',
        `an earlier seed record has the identifier ${quoted(identifiers[index])} already`,
      ),
    ),
  ];
};

const isIdentifier = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;

function checkIdentifier({ complete, identifier }: TypeDraft, value: unknown, index: number): readonly Finding[] {
  if (isIdentifier(value) || !complete) return [];
  if (value === undefined)
    return [
      finding(
        'seed-identifier',
        ['seed', index],
        'value',
        `a seed record needs its identifier, ${quoted(identifier)}: it is inserted once for each`,
      ),
    ];
  return [
    finding(
      'seed-identifier',
      ['seed', index, identifier],
      'value',
      `an identifier is a whole number from 1 on, not ${quoted(value)}`,
    ),
  ];
}

function checkKeys(type: TypeDraft, seed: JsonObject, index: number): readonly Finding[] {
  if (type.draft.open || type.lost.has('open')) return [];
  const known = [type.identifier, ...type.fields.keys(), ...type.relations.keys()];
  return Object.keys(seed).flatMap((key) => unknownField(type, key, known, ['seed', index, key], 'key'));
}
