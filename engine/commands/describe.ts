/** `describe`: prints types with every default filled in, or a diagram of all types as Mermaid text. */
import { stringify } from 'yaml';
import { describeType } from '../describe/describe.ts';
import { mermaidOf } from '../describe/mermaid.ts';
import type { Model, RecordType } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { print } from '../terminal.ts';
import { type Command, readModel, readOptions } from './command.ts';

const USAGE = 'records describe [TYPE] [--json | --diagram]';

export const describe: Command = {
  usage: USAGE,
  run: async (args) => {
    const known = { json: { type: 'boolean' }, diagram: { type: 'boolean' } } as const;
    const { values, positionals } = readOptions(args, known, 1, USAGE);
    const model = readModel(readSettings(process.env).schemaDirectory);
    const [name] = positionals;
    print(values.diagram ? mermaidOf(model) : format(chosen(model, name), values.json ?? false));
    return 0;
  },
};

function chosen({ types }: Model, name: string | undefined): readonly RecordType[] {
  if (name === undefined) return [...types.values()];
  const type = types.get(name);
  if (type) return [type];
  throw new StartError(
    `There is no type "${name}"${didYouMean(name, types.keys()) || `; choose from ${[...types.keys()].join(', ')}`}`,
  );
}

function format(types: readonly RecordType[], json: boolean): string {
  const described = types.map(describeType);
  if (json) return JSON.stringify(described, null, 2);
  return described
    .map((one) => stringify(one, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd())
    .join('\n---\n');
}
