/** Splits a shell block into commands, and these into words: quotes, backslashes, continued lines, comments. No expansion. */
const TOKEN = /\\\n|\n|(?:[^\s'"\\]|\\[^\n]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+/g;
const QUOTED = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g;

export function shellCommands(text: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (const [token] of text.replaceAll(/^[ \t]*#.*$/gm, '').matchAll(TOKEN)) {
    if (token === '\n') commands.push([]);
    else if (token !== '\\\n') commands.at(-1)?.push(unquote(token));
  }
  return commands.filter((command) => command.length > 0);
}

const unquote = (word: string): string =>
  word.replaceAll(
    QUOTED,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  );
