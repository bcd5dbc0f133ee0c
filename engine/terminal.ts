/** Prints to the terminal, with control characters escaped so that output cannot move the cursor or disguise text. */

/** C0 and C1 controls except tab and newline, and characters that reorder or separate text. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** Escapes controls as JSON does, so that JSON stays equivalent. */
export const printable = (text: string): string =>
  text.replaceAll(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const print = (text: string): void => console.log(printable(text));

export const printError = (text: string): void => console.error(printable(text));
