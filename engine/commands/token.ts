/** `token` prints a new token, which it stores nowhere, and the line with its hash and rights for TOKENS. */
import { createToken, parseGrants, parseTypes, tokenLine } from '../access/tokens.ts';
import type { TypeNames } from '../model/rights.ts';
import { StartError } from '../problem.ts';
import { print } from '../process.ts';
import { BOOLEAN, command, readModel, refuseUnknownTypes, STRING } from './command.ts';

const USAGE = `records token NAME [--read TYPES] [--write TYPES] [--json]: TYPES are names separated by commas, or '*'; without options, --read '*'`;

export const token = command(
  USAGE,
  { read: STRING, write: STRING, json: BOOLEAN },
  ['NAME'],
  async ({ read, write, json }, [name], { schemaDirectory }) => {
    const rights = { name, read: typesOf(read ?? (write === undefined ? '*' : undefined)), write: typesOf(write) };
    refuseUnknownTypes(readModel(schemaDirectory), rights);
    const made = createToken();
    const line = tokenLine(rights, made);
    const { grants, faults } = parseGrants({ name: 'NAME', text: line });
    if (grants.length === 0 || faults.length > 0)
      throw new StartError(`"${name}" cannot be a name; use up to 64 letters, digits and . _ @ -`);
    print(json ? JSON.stringify({ token: made, line }, null, 2) : format(made, line));
    return 0;
  },
);

const typesOf = (text: string | undefined): TypeNames => (text === undefined ? new Set() : parseTypes(text));

const format = (made: string, line: string): string => `The token for the client (it is not shown again):

  ${made}

Its line for TOKENS_FILE or TOKENS:

  ${line}`;
