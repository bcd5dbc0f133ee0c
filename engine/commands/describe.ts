/** `describe`: prints types with every default filled in, or a diagram of all types as Mermaid text. */
import { stringify } from 'yaml';
import { describeType } from '../describe/describe.ts';
import { mermaidOf } from '../describe/mermaid.ts';
import type { RecordType } from '../model/model.ts';
import { print } from '../terminal.ts';
import { BOOLEAN, command, readModel, typeNamed } from './command.ts';

const USAGE = 'records describe [TYPE] [--json | --diagram]';

export const describe = command(
  USAGE,
  { json: BOOLEAN, diagram: BOOLEAN },
  1,
  async ({ json = false, diagram }, [name], { schemaDirectory }) => {
    const model = readModel(schemaDirectory);
    const types = name === undefined ? [...model.types.values()] : [typeNamed(model, name)];
    print(diagram ? mermaidOf(model) : format(types, json));
    return 0;
  },
);

function format(types: readonly RecordType[], json: boolean): string {
  const described = types.map(describeType);
  if (json) return JSON.stringify(described, null, 2);
  return described
    .map((one) => stringify(one, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd())
    .join('\n---\n');
}
