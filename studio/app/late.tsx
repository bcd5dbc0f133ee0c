/** What is shown only of what takes long: something that comes and goes at once is in the way, and costs more than the wait. */
import { type ReactNode, useEffect, useState } from 'react';

const SOON_MS = 300;

export function Late({ children }: { readonly children: ReactNode }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), SOON_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLate ? children : undefined;
}
