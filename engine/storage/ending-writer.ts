/** A writer that ends with its transaction: statements that come later must not run in the next one. */
import type { Statement, Values, Writer } from './driver.ts';

interface EndingWriter {
  readonly writer: Writer;
  end(): void;
}

export function endingWriter(inner: Writer): EndingWriter {
  let ended = false;
  const during =
    <T>(ask: (statement: Statement, values: Values) => T) =>
    (statement: Statement, values: Values): T => {
      if (ended) throw lateStatement();
      return ask(statement, values);
    };
  return {
    writer: {
      get: during(inner.get),
      all: during(inner.all),
      value: during(inner.value),
      count: during(inner.count),
      page: (wanted, caller) => during(() => inner.page(wanted, caller))(wanted.statement, wanted.values),
      column: during(inner.column),
      run: during(inner.run),
      send: during(inner.send),
      isPipelined: inner.isPipelined,
    },
    end: () => void (ended = true),
  };
}

export const lateStatement = (): Error => new Error('A statement came after the end of its transaction');
