/** What a person types after opening the palette and before it is there: nothing of it is lost. */
let typed = '';

/** If the palette cannot be loaded, keys go where they went. */
const PATIENCE_MS = 5000;

const collect = (event: KeyboardEvent): void => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' || event.key === 'Tab') takeTyped();
  else if (event.key === 'Backspace') typed = typed.slice(0, -1);
  else if (event.key.length === 1) typed += event.key;
  else return;
  event.preventDefault();
  event.stopPropagation();
};

export function collectTyped(): void {
  typed = '';
  document.addEventListener('keydown', collect, true);
  setTimeout(takeTyped, PATIENCE_MS);
}

export function takeTyped(): string {
  document.removeEventListener('keydown', collect, true);
  const text = typed;
  typed = '';
  return text;
}
