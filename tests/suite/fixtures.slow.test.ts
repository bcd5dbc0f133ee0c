/** Replays the generated suites of schemas of odd shapes: on each database, with the same answers. `npm run test:suites` replays all of their cases. */
import { fixtureSchemas } from '../support/schemas.ts';
import { describeSuites } from '../support/suites.ts';

for (const { name, directory } of fixtureSchemas) describeSuites(name, directory, 8);
