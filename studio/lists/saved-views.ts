/** Views that a person has saved: filters, order and columns with a name, kept in this browser. */
import { useStore } from 'ra-core';

export interface SavedView {
  readonly name: string;
  /** The query of its address. */
  readonly search: string;
}

const NONE: readonly SavedView[] = [];

export const useViews = (path: string) => useStore<readonly SavedView[]>(`${path}.views`, NONE);
