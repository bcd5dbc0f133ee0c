/** Replays the generated suites of very large schemas: on each database, with the same answers. `npm run test:suites` replays all of their cases. */
import { manyTypes, wideSchema } from '../support/schemas.ts';
import { describeSuites } from '../support/suites.ts';

describeSuites('200 fields', wideSchema(), 20);
describeSuites('300 types', manyTypes(), 20);
