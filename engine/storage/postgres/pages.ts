/** A page and its total in one statement. */
import type { Dialect } from '../dialect.ts';

/** `?` outside of quotes becomes `$1`, `$2`, …; what Knex has compiled has none left. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g, (piece) => (piece === '?' ? `$${(count += 1)}` : piece));
}

/** The last two values of a page are the limit, which is one more than asked for, and the offset. */
export const countedPage: NonNullable<Dialect['counted']> = (page, count, { values, isTold }) => {
  const rows = '(select count(*) from page$)';
  const unless = isTold ? ` where ${rows} >= $${values - 1} or (${rows} = 0 and $${values} > 0)` : '';
  return {
    sql:
      `with page$(text$) as materialized (${page.sql}) select text$, null::bigint from page$ ` +
      `union all select null, (${count.sql})${unless}`,
  };
};
