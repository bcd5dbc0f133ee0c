/** How the resolvers say what is wrong with a parameter. */
import { shortened } from '../names.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';

/** Answers undefined, so that a function which cannot go on returns it. `suggest` gives the end of the message. */
export type Complain = (code: string, message: string, suggest?: () => string) => undefined;

export const complainAbout =
  (faults: Fault[], parameter: string): Complain =>
  (code, message, suggest) => {
    // Those of faults that are not listed would cost more than the rest together.
    const suggestion = suggest && faults.length < MAX_ERRORS ? suggest() : '';
    faults.push({ parameter, code, message: message + suggestion });
    return undefined;
  };

const MAX_QUOTED = 60;

/** A client's text inside a message. */
export const quote = (text: string): string => JSON.stringify(shortened(text, MAX_QUOTED));
