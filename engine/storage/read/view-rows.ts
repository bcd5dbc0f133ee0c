/** The rows that a record's text is made from: whoever relies on the text locks them. */
import { createShapeCache } from '../../memo.ts';
import { MAX_SHOWN_ROWS, type RecordType, type Relation } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader, Statement } from '../driver.ts';
import { fromTables, relatedTables, ROOT_ALIAS } from './views.ts';

/** A related record that a view shows. */
export interface ViewRow {
  readonly type: RecordType;
  readonly identifier: number;
}

/** The related records that a view shows of some records; undefined if one relation leads to more than answers may show. */
export type FindViewRows = (
  reader: Reader,
  view: View,
  identifiers: readonly number[],
) => Promise<readonly ViewRow[] | undefined>;

/** Related records of one relation, for each record up to this many. They are held and locked. */
const MOST_RECORDS = 10;

interface ViewPlace {
  readonly relations: readonly Relation[];
  readonly view: View;
}

export function createFindViewRows(dialect: Dialect): FindViewRows {
  const statementOf = createShapeCache((view: View) => statement(view, placesOf(view, []), dialect));
  return async (reader, view, identifiers) => {
    const most = MAX_SHOWN_ROWS * Math.min(identifiers.length, MOST_RECORDS);
    const places = placesOf(view, []);
    const counts = places.map(() => 0);
    const compiled = statementOf(`${view.type.statementKey}|${view.key}`, view);
    const rows = await reader.all(compiled, [JSON.stringify(identifiers), most + 1]);
    const found = rows.flatMap(([at, related]): ViewRow[] => {
      const place = Number(at);
      const shown = places[place]?.view;
      counts[place] = (counts[place] ?? 0) + 1;
      return shown ? [{ type: shown.type, identifier: Number(related) }] : [];
    });
    return counts.some((count) => count > most) ? undefined : found;
  };
}

const placesOf = (view: View, above: readonly Relation[]): readonly ViewPlace[] =>
  view.relations.flatMap(({ relation, view: related }) => {
    const relations = [...above, relation];
    return [{ relations, view: related }, ...placesOf(related, relations)];
  });

function statement({ type }: View, places: readonly ViewPlace[], dialect: Dialect): Statement {
  const { quote } = dialect;
  const selects = places.map(({ relations, view }, place) => {
    const aliases = [ROOT_ALIAS, ...relations.map((_, index) => `d${index}$`)];
    const steps = relations.map((relation, index) =>
      relatedTables(relation, aliases[index] ?? '', aliases[index + 1] ?? '', dialect),
    );
    const rows = fromTables({
      tables: ['asked$', `${quote(type.table)} as ${ROOT_ALIAS}`, ...steps.flatMap(({ tables }) => tables)],
      conditions: [
        `${ROOT_ALIAS}.${quote(type.identifier.column)} = asked$.id$`,
        ...steps.flatMap(({ conditions }) => conditions),
      ],
    });
    const identifier = `${aliases.at(-1) ?? ''}.${quote(view.type.identifier.column)}`;
    return `select * from (select ${place} as place$, ${identifier} from ${rows} limit (select most$ from bounds$)) as p${place}$`;
  });
  const asked = `select listed$.value as id$ from ${dialect.listed}`;
  return {
    sql: `with asked$ as (${asked}), bounds$ as (select cast(? as bigint) as most$) ${selects.join(' union all ')}`,
  };
}
