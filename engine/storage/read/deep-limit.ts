/** Related records beyond the first level multiply: they are counted before an answer is put together. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { MAX_DEEP_RECORDS, type Relation } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import type { Dialect, Reader, Statement } from '../driver.ts';
import { ROOT } from './paths.ts';
import { relatedRows } from './views.ts';

interface DeepPath {
  readonly name: string;
  /** Bound as the statement that selects the identifiers. */
  readonly count: Statement;
}

/** Throws `too-many-related`, naming the path with which the limit is passed. */
export type DeepLimit = (reader: Reader, values: readonly SqlValue[]) => Promise<void>;

/** `identifiers` selects the identifiers of the records that are answered; undefined where no level is deep. */
export function createDeepLimit(view: View, identifiers: Statement, dialect: Dialect): DeepLimit | undefined {
  const paths = deepPaths(view, []).map((relations) => countPath(view, relations, identifiers, dialect));
  if (paths.length === 0) return undefined;
  return async (reader, values) => {
    let total = 0;
    for (const { name, count } of paths) {
      total += Number(await reader.value(count, values));
      if (total > MAX_DEEP_RECORDS) throw tooMany(name);
    }
  };
}

function tooMany(path: string): Problem {
  const message = `${path} leads to more than ${MAX_DEEP_RECORDS} related records beyond the first level; ask for fewer records, or read them by themselves`;
  return new Problem('too-many-related', message, {
    errors: [{ parameter: 'include', code: 'too-many-related', message }],
  });
}

/** Every path of two or more relations. */
function deepPaths(view: View, above: readonly Relation[]): readonly (readonly Relation[])[] {
  return view.relations.flatMap(({ relation, view: related }) => {
    const path = [...above, relation];
    return [...(path.length > 1 ? [path] : []), ...deepPaths(related, path)];
  });
}

function countPath({ type }: View, relations: readonly Relation[], identifiers: Statement, dialect: Dialect): DeepPath {
  const { quote } = dialect;
  const rows = relations.reduceRight<string>((below, relation, index) => {
    const [parent, child] = [index === 0 ? ROOT : `d${index}`, `d${index + 1}`];
    const from = relatedRows(relation, parent, child, dialect);
    // Counted from the inside out: each row counts for the rows below it, the last for itself.
    return `(select ${below === '' ? 'count(*)' : `coalesce(sum(${below}), 0)`} from ${from})`;
  }, '');
  const root = `${quote(type.table)} as ${ROOT}`;
  const among = `${ROOT}.${quote(type.identifier.column)} in (${identifiers.sql})`;
  return {
    name: relations.map(({ name }) => name).join('.'),
    count: { sql: `select coalesce(sum(${rows}), 0) from ${root} where ${among}` },
  };
}
