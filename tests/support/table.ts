/** Tables of requests as text, one a line: `METHOD path body => what is answered`. */
import { type Answer, ask } from './ask.ts';

/** The lines, split at each ` => `. Lines of comments begin with #. */
export const rowsOf = (text: string): readonly (readonly [row: string, expected: string, more: string])[] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ => ?/))
    .flatMap(([row = '', expected = '', more = '']) => (row.startsWith('#') ? [] : [[row, expected, more] as const]));

export function askRow(url: string, row: string, headers?: Readonly<Record<string, string>>): Promise<Answer> {
  const [, title = row, body] = /^(\S+ \S+)(?: (.+))?$/.exec(row) ?? [];
  return ask(url, title, body === undefined ? undefined : JSON.parse(body), headers);
}

export function faultsIn({ body }: Answer): string {
  const { errors = [] } = (body ?? {}) as { readonly errors?: readonly Readonly<Record<string, string>>[] };
  return errors
    .map(
      ({ pointer, parameter, header, relation, code }) => `${pointer ?? parameter ?? header ?? relation ?? ''} ${code}`,
    )
    .join(' | ');
}
