/** How each list was left: its sort, filters and page, until the tab ends. */
const searches = new Map<string, string>();

export const keepList = (path: string, search: string): void => void searches.set(path, search);

/** The address of a list as it was left. */
export const listAddress = (path: string): string => `/${path}${searches.get(path) ?? ''}`;
