/** In an open type, records may hold a key that is about to mean something else. */
import { OPEN_COLUMN } from '../../model/model.ts';
import { rowsWhere } from './checks.ts';
import { draft, type DraftStep, type TypeChange } from './draft.ts';
import { match } from './match.ts';

/** Fields that are new take such keys over; identifiers, relations and new names of fields cannot. */
export function claimSteps(change: TypeChange, knownRelations: ReadonlySet<string>): readonly DraftStep[] {
  const { type, before, dialect } = change;
  if (!before.open) return [];
  const { kept } = match(type.fields.values(), Object.keys(before.fields));
  const names = [
    ...(type.identifier.name === before.identifier ? [] : [type.identifier.name]),
    ...kept.filter(({ wanted, former }) => wanted.name !== former).map(({ wanted }) => wanted.name),
    ...[...type.relations.keys()].filter((name) => !knownRelations.has(name)),
  ];
  return names.map((name) =>
    draft('claim-key', type.name, `Take the name "${name}" of ${type.name} from open keys`, {
      name,
      checks: [
        rowsWhere(change, dialect.hasKey(OPEN_COLUMN, name), {
          effect: 'fail',
          says: `there is an open key "${name}", which cannot be taken over; remove it`,
        }),
      ],
    }),
  );
}
