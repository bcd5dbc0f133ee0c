/** The memory of the studio: preferences stay in this browser, data of records only until the tab is closed. */
import { localStorageStore, memoryStore, type Store } from 'ra-core';

const kept = localStorageStore(undefined, 'studio');
const forgotten = memoryStore();

const KEPT = /^(?:locale|appearance|charts|density|size)$|\.(?:columns|widths|measure|views)$/;
const isKept = (key: string): boolean => KEPT.test(key);
const storeOf = (key: string): Store => (isKept(key) ? kept : forgotten);

export const store: Store = {
  setup() {
    kept.setup();
    forgotten.setup();
  },
  teardown() {
    kept.teardown();
    forgotten.teardown();
  },
  getItem: (key, initial) => storeOf(key).getItem(key, initial),
  setItem: (key, value) => storeOf(key).setItem(key, value),
  removeItem: (key) => storeOf(key).removeItem(key),
  removeItems(prefix) {
    kept.removeItems(prefix);
    forgotten.removeItems(prefix);
  },
  reset() {
    kept.reset();
    forgotten.reset();
  },
  subscribe: (key, callback) => storeOf(key).subscribe(key, callback),
};
