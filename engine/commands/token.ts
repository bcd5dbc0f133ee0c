/** `token` prints a new token, which it stores nowhere, and the line with its hash and rights for TOKENS. */
import type { Claims } from '../access/conditions.ts';
import { createToken, parseClaims, parseGrants, parseTypes, tokenLine, type WrittenRights } from '../access/tokens.ts';
import { StartError } from '../problem.ts';
import { print } from '../process.ts';
import type { Settings } from '../settings/settings.ts';
import { BOOLEAN, command, readModel, readAccess, refuseUnknownTypes, roleNamed, STRING, STRINGS } from './command.ts';

export const token = command(
  `records token NAME [--read TYPES] [--write TYPES] [--history TYPES] [--json], or NAME --role ROLE [--claim NAME=VALUE]...: TYPES are names separated by commas, or '*'; without options, --read '*'`,
  { read: STRING, write: STRING, history: STRING, role: STRING, claim: STRINGS, json: BOOLEAN },
  ['NAME'],
  async ({ json, ...wanted }, [name], settings) => {
    const made = createToken();
    const line = tokenLine({ name, ...rightsIn(wanted, settings) }, made);
    const { grants, faults } = parseGrants([wanted.role ?? ''], { name: 'NAME', text: line });
    if (grants.length === 0 || faults.length > 0)
      throw new StartError(`"${name}" cannot be a name; use up to 64 letters, digits and . _ @ -`);
    print(json ? JSON.stringify({ token: made, line }, null, 2) : format(made, line));
    return 0;
  },
);

type Wanted = Partial<Record<'read' | 'write' | 'history' | 'role', string | undefined>> & {
  readonly claim?: readonly string[] | undefined;
};

function rightsIn({ read, write, history, role, claim = [] }: Wanted, settings: Settings): WrittenRights {
  if (role === undefined && claim.length > 0) throw new StartError('--claim needs --role');
  if (role === undefined) {
    const rights = {
      read: parseTypes(read ?? (write === undefined ? '*' : undefined)),
      write: parseTypes(write),
      history: parseTypes(history),
    };
    refuseUnknownTypes(readModel(settings.schemaDirectory), rights);
    return rights;
  }
  if (read !== undefined || write !== undefined || history !== undefined)
    throw new StartError('A role has its own rights: leave --read, --write and --history out');
  roleNamed(readAccess(settings).roles, role);
  claimsIn(claim);
  return { role, claims: claim };
}

/** Throws a StartError for what is not `NAME=VALUE`. */
export function claimsIn(texts: readonly string[]): Claims {
  const strange = texts.find((text) => !/^[^=\s;]+=[^\s;]+$/.test(text));
  if (strange !== undefined) throw new StartError(`"${strange}" is not a claim; write NAME=VALUE, without spaces`);
  return parseClaims(texts);
}

const format = (made: string, line: string): string => `The token for the client (it is not shown again):

  ${made}

Its line for TOKENS_FILE or TOKENS:

  ${line}`;
