/** Model -> its entity-relationship diagram as Mermaid text, which GitHub and most editors draw. */
import type { Model, RecordType, Reference } from '../model/model.ts';

export function mermaidOf(model: Model): string {
  const types = [...model.types.values()];
  // A client that may not see a type does not see which relations lead there.
  const columns = types.flatMap((type) =>
    type.references
      .filter(({ target }) => model.types.get(target.name) === target)
      .map((reference) => columnLine(type, reference)),
  );
  const joins = model.joinTables.map(({ left, right }) => line(left.type, '}o--o{', right.type, ''));
  return ['erDiagram', ...types.map(({ name }) => `  ${quoted(name)}`), ...columns, ...joins].join('\n');
}

const quoted = (name: string): string => `"${name}"`;

/** From the type that has the column to the one that it refers to. */
const columnLine = (type: RecordType, { target, relation, required, unique }: Reference): string =>
  line(type, `${unique ? '|o' : '}o'}--${required ? '||' : 'o|'}`, target, relation?.name ?? '');

const line = (from: RecordType, ends: string, to: RecordType, label: string): string =>
  `  ${quoted(from.name)} ${ends} ${quoted(to.name)} : "${label}"`;
