/** How the resolvers say what is wrong with a parameter. */
import type { Fault } from '../problem.ts';

/** Answers undefined, so that a function which cannot go on returns it. `suggest` gives the end of the message. */
export type Complain = (code: string, message: string, suggest?: () => string) => undefined;

/** A request with more faults than this gets no more suggestions: they cost more than the rest together. */
const MAX_SUGGESTIONS = 100;

export const complainAbout =
  (faults: Fault[], parameter: string): Complain =>
  (code, message, suggest) => {
    const suggestion = suggest && faults.length < MAX_SUGGESTIONS ? suggest() : '';
    faults.push({ parameter, code, message: message + suggestion });
    return undefined;
  };

const MAX_QUOTED = 60;

/** A client's text inside a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED).toWellFormed()}…` : text);
}
