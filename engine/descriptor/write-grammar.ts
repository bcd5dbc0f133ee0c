/** Writes the published grammar. Run `npm run grammar` after a change of the grammar or of a field type's keywords. */
import { writeFileSync } from 'node:fs';
import { grammar } from './grammar.ts';

const GRAMMAR_FILE = 'engine/descriptor/descriptor.schema.json';

writeFileSync(GRAMMAR_FILE, `${JSON.stringify(grammar, null, 2)}\n`);
