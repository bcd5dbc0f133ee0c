/** Replays the generated suites of very large schemas: on each database, with the same answers. */
import { manyTypes, wideSchema } from '../support/schemas.ts';
import { describeSuites } from '../support/suites.ts';

describeSuites('200 fields', wideSchema());
describeSuites('300 types', manyTypes());
