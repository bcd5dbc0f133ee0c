/** Each fault that is to be planted has its place in the sources: exactly one. */
import { dialectMutants } from './dialect-mutants.ts';
import { mutants, mutantsOfTests } from './mutants.ts';
import { placeOf, readSources } from './planted.ts';
import { postgresMutants, postgresMutantsOfTests } from './postgres-mutants.ts';

const sources = readSources();
const all = [...mutants, ...dialectMutants, ...mutantsOfTests, ...postgresMutants, ...postgresMutantsOfTests];

test.each(all.map((mutant) => [mutant.name, mutant] as const))('%s', (_, { edits }) => {
  for (const edit of edits) expect(placeOf(edit, sources).file).toMatch(/^engine\//);
});
