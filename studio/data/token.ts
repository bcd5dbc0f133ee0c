/** The token of this tab. Start page and reference keep theirs under the same key: it is entered once. */
const KEY = 'records-token';

export const keptToken = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined;
export const keepToken = (token: string): void => sessionStorage.setItem(KEY, token);
export const forgetToken = (): void => sessionStorage.removeItem(KEY);

/** Others could not be sent in a header. */
export const isToken = (text: string): boolean => /^[\w.~+/-]+=*$/.test(text);
