/** Keys that work on every page, unless a person is typing. */
import { useEffect, useRef } from 'react';

/** How the keyboards of this computer call the key that commands are given with. */
export const MOD = navigator.platform.startsWith('Mac') ? '⌘' : 'Ctrl ';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

const isOpen = (): boolean => document.querySelector('[role=dialog], [role=menu]') !== null;

/** By the name of the key; `mod+k`: with Ctrl, or ⌘ on a Mac. */
export function useKeys(acts: Readonly<Record<string, (() => void) | undefined>>): void {
  const latest = useRef(acts);
  latest.current = acts;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isMod = event.ctrlKey || event.metaKey;
      if (event.altKey || event.defaultPrevented || (!isMod && (isTyping(event.target) || isOpen()))) return;
      const act = latest.current[`${isMod ? 'mod+' : ''}${event.key.toLowerCase()}`];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}
