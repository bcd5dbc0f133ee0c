/** The first script, which is small: it asks for the model while the others are still being read. */
import { fetchModel } from './data/request.ts';

const asked = fetchModel();
// The page that shows the model reports the error.
asked.catch(() => undefined);
void import('./main.tsx').then(({ start }) => start(asked));
