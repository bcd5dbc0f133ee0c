/** The faults that `npm run test:mutants` plants still have their place in the sources: exactly one. */
import { readFileSync } from 'node:fs';
import { mutants } from './mutants/mutants.ts';

test.each(mutants.map((mutant) => [mutant.name, mutant] as const))('%s', (_, { edits }) => {
  const places = edits.map(({ file, find }) => [file, readFileSync(file, 'utf8').split(find).length - 1]);
  expect(places).toEqual(edits.map(({ file }) => [file, 1]));
});
