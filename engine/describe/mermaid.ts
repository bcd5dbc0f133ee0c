/** Model -> an entity-relationship diagram in Mermaid's language. */
import type { JoinTable, Model, RecordType, Reference } from '../model/model.ts';

export function mermaidOf({ types, joinTables }: Model): string {
  const all = [...types.values()];
  const lines = [
    'erDiagram',
    ...all.flatMap(entity),
    ...all.flatMap((type) => type.references.map((reference) => referenceLine(type, reference))),
    ...joinTables.map(joinLine),
  ];
  return lines.join('\n');
}

/** Mermaid takes letters of other languages in quotes only. */
const entityName = (name: string): string => (/^[A-Za-z]\w*$/.test(name) ? name : JSON.stringify(name));
const comment = (text: string): string => (text === '' ? '' : ` "${plain(text)}"`);
const plain = (text: string): string => text.replaceAll(/["\s]+/g, ' ').trim();

function entity(type: RecordType): readonly string[] {
  const { name, description } = type.identifier;
  const fields = [...type.fields.values()].map(
    (field) => `${field.type.name} ${field.name}${field.unique ? ' UK' : ''}${comment(field.description)}`,
  );
  const keys = type.references.map(({ column, target }) => `integer ${column} FK${comment(target.name)}`);
  const rows = [`integer ${name} PK${comment(description)}`, ...fields, ...keys].map((row) => `    ${row}`);
  return [`  ${entityName(type.name)} {`, ...rows, '  }'];
}

function referenceLine(child: RecordType, { target, required, unique, relation, column }: Reference): string {
  const ends = `${required ? '||' : '|o'}--${unique ? 'o|' : 'o{'}`;
  return `  ${entityName(target.name)} ${ends} ${entityName(child.name)} : "${relation?.name ?? column}"`;
}

const joinLine = ({ left, right, name }: JoinTable): string =>
  `  ${entityName(left.type.name)} }o--o{ ${entityName(right.type.name)} : "${name}"`;
