/** Former names: each belongs to nothing else, so that what is known under it moves to one place. */
import type { TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import type { Path } from '../source.ts';
import { type Check, folded, type Found, type SchemaCheck } from './check.ts';

interface Renamed {
  readonly name: string;
  readonly former: string | undefined;
  readonly path: Path;
}

/** Fields and relations of one type. */
export const checkRenames: Check = (type) => {
  const members = (section: 'fields' | 'relations'): readonly Renamed[] =>
    [...type[section]].map(([name, { renamedFrom }]) => ({
      name,
      former: renamedFrom,
      path: [section, name, 'renamedFrom'],
    }));
  const taken = [type.identifier, ...type.fields.keys(), ...type.relations.keys()];
  return [...members('fields'), ...members('relations')].flatMap((one, index, all) => faults(one, index, all, taken));
};

export const checkTypeRenames: SchemaCheck = ({ types }) => {
  const renamed = (type: TypeDraft): Renamed => ({
    name: type.name,
    former: type.draft.renamedFrom,
    path: ['renamedFrom'],
  });
  const all = types.map(renamed);
  const taken = types.map(({ name }) => name);
  return types.flatMap((type, index) => faults(renamed(type), index, all, taken).map((one): Found => [type, one]));
};

function faults(
  { name, former, path }: Renamed,
  index: number,
  all: readonly Renamed[],
  taken: readonly string[],
): readonly Finding[] {
  if (former === undefined) return [];
  const holder = taken.find((one) => (one === name ? one === former : folded(one) === folded(former)));
  if (holder !== undefined) {
    const message = `${quoted(former)} is there still, so that ${quoted(name)} cannot be its new name`;
    return [finding('former-name-taken', path, 'value', message)];
  }
  const rival = all.slice(0, index).find((one) => one.former === former);
  if (!rival) return [];
  return [finding('doubled-rename', path, 'value', `${quoted(former)} has become ${quoted(rival.name)} already`)];
}
