/**
 * Keys that a person presses before the input that they are meant for is there: while it is loaded, or a value is saved
 * first. They are held back, and pressed in their order where the focus is then.
 */
import { useLayoutEffect } from 'react';

const NAMED: ReadonlySet<string> = new Set(['Enter', 'Tab', 'Escape', 'Backspace', 'ArrowUp', 'ArrowDown']);

let held: Pick<KeyboardEvent, 'key' | 'shiftKey'>[] = [];
/** Whoever holds or gives keys later has the say. */
let turn = 0;

const hold = (event: KeyboardEvent): void => {
  const { key, shiftKey } = event;
  const isCommand = event.ctrlKey || event.metaKey || event.altKey;
  if (!event.isTrusted || isCommand || (key.length > 1 && !NAMED.has(key))) return;
  held.push({ key, shiftKey });
  event.preventDefault();
  event.stopPropagation();
};

export function holdKeys(): void {
  turn += 1;
  document.addEventListener('keydown', hold, true);
  // Whoever clicks has gone elsewhere.
  document.addEventListener('pointerdown', dropKeys, true);
}

export function dropKeys(): void {
  turn += 1;
  held = [];
  document.removeEventListener('keydown', hold, true);
  document.removeEventListener('pointerdown', dropKeys, true);
}

/** One after the other: what a key changes is there before the next one, as between two real ones. */
export async function giveKeys(): Promise<void> {
  turn += 1;
  const mine = turn;
  const isMine = (): boolean => turn === mine;
  do {
    await new Promise((resolve) => setTimeout(resolve));
    if (isMine()) press(held.shift());
  } while (isMine() && held.length > 0);
  if (isMine()) dropKeys();
}

function press(one: (typeof held)[number] | undefined): void {
  if (one === undefined) return;
  const target = document.activeElement ?? document.body;
  const { key, shiftKey } = one;
  if (!target.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true, cancelable: true }))) return;
  if (key === 'Tab') focusBeside(target, shiftKey ? -1 : 1);
  else if (key === 'Backspace') document.execCommand('delete');
  // It replaces what is selected, and the input hears of it.
  else if (key.length === 1) document.execCommand('insertText', false, key);
}

function focusBeside(target: Element, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>('input, textarea, button, a[href], [tabindex]')];
  const stops = all.filter((one) => one === target || (one.tabIndex >= 0 && one.checkVisibility()));
  goTo(stops[stops.findIndex((one) => one === target) + by]);
}

/** As Tab does: what is typed then replaces what stands there. */
export function goTo(input: HTMLElement | null | undefined): void {
  input?.focus();
  if (input instanceof HTMLInputElement) input.select();
}

/** Stands where something is loaded that takes keys. */
export function HeldKeys(): undefined {
  useLayoutEffect(() => {
    holdKeys();
    return () => void giveKeys();
  }, []);
  return undefined;
}
