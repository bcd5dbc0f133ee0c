/** Starts the studio in the page that the service sends. */
import { createRoot } from 'react-dom/client';
import { Studio } from './app/studio.tsx';

export function start(asked: Promise<string>): void {
  const root = document.getElementById('studio');
  if (root === null) return;
  createRoot(root).render(
    <Studio title={root.dataset['title'] ?? ''} nonce={document.querySelector('style')?.nonce ?? ''} asked={asked} />,
  );
}
