/** How each list was left: its address. In this tab, and until it is closed. */
const searches = new Map<string, string>();

export const keepList = (path: string, search: string): void => void searches.set(path, search);

/** The address of a list as it was left. */
export const listAddress = (path: string): string => `/${path}${searches.get(path) ?? ''}`;
