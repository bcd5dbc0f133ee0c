/** The methods of a reader and a writer, listed once for all that lies around them: each passes through one function. */
import type { Awaitable, PageRequest, Reader, Statement, Writer } from './driver.ts';

/** Makes a method anew; all of them take two arguments, of which the first says which statement runs. */
export type AroundMethod = <First, Second, T>(
  ask: (first: First, second: Second) => Awaitable<T>,
  statementIn: (first: First) => Statement,
) => (first: First, second: Second) => Awaitable<T>;

export const itself = (statement: Statement): Statement => statement;
const ofPage = ({ statement }: PageRequest): Statement => statement;

export const readerThrough = (around: AroundMethod, { get, all, value, count, page, column }: Reader): Reader => ({
  get: around(get, itself),
  all: around(all, itself),
  value: around(value, itself),
  count: around(count, itself),
  page: around(page, ofPage),
  column: around(column, itself),
});

export const writerThrough = (around: AroundMethod, writer: Writer): Writer => ({
  ...readerThrough(around, writer),
  run: around(writer.run, itself),
});
