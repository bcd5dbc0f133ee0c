/** `token`: creates a token and its line for the service. The token itself is printed once and stored nowhere. */
import { createToken, parseGrants, parseTypes, tokenLine, type TypeNames } from '../access/tokens.ts';
import { unknownTypes } from '../access/restrict.ts';
import { didYouMean } from '../names.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { print } from '../terminal.ts';
import { type Command, readModel, readOptions } from './command.ts';

const USAGE = `records token NAME [--read TYPES] [--write TYPES] [--json]: TYPES are names separated by commas, or '*'; without options, --read '*'`;

export const token: Command = {
  usage: USAGE,
  run: async (args) => {
    const known = { read: { type: 'string' }, write: { type: 'string' }, json: { type: 'boolean' } } as const;
    const { values, positionals } = readOptions(args, known, 1, USAGE);
    const [name] = positionals;
    if (name === undefined) throw new StartError(USAGE);
    const rights = {
      name,
      read: typesOf(values.read ?? (values.write === undefined ? '*' : undefined)),
      write: typesOf(values.write),
    };
    refuseUnknown(rights);
    const made = createToken();
    const line = tokenLine(rights, made);
    if (parseGrants({ name: 'NAME', text: line }).grants.length === 0)
      throw new StartError(`"${name}" cannot be a name; use up to 64 letters, digits and . _ @ -`);
    print(values.json ? JSON.stringify({ token: made, line }, null, 2) : format(made, line));
    return 0;
  },
};

const typesOf = (text: string | undefined): TypeNames => (text === undefined ? new Set() : parseTypes(text));

function refuseUnknown(rights: { readonly read: TypeNames; readonly write: TypeNames }): void {
  const model = readModel(readSettings(process.env).schemaDirectory);
  const [unknown] = unknownTypes(model, rights);
  if (unknown === undefined) return;
  throw new StartError(`There is no type "${unknown}"${didYouMean(unknown, model.types.keys())}`);
}

const format = (made: string, line: string): string =>
  [
    'The token for the client (it is not shown again):',
    '',
    `  ${made}`,
    '',
    'Its line for TOKENS_FILE or TOKENS:',
    '',
    `  ${line}`,
  ].join('\n');
