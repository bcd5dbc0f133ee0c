/** The sets of a record, as tables: those that came with it, and those that have a list of their own. */
import { Grid } from '../app/grid.tsx';
import { Alert, Button, Typography } from '@mui/material';
import { useGetList } from 'ra-core';
import { Link as RouterLink } from 'react-router-dom';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Fragment, type ReactNode } from 'react';
import { isValueList, isValueObject, type Value, type ValueObject, writeJson } from '../data/json.ts';
import { addressSearch } from '../data/address.ts';
import { textOfWhere } from '../data/where.ts';
import {
  identifierOf,
  isToMany,
  otherValues,
  type RelationInfo,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import type { ListMeta, StudioRecord } from '../data/provider.ts';
import { Related } from '../fields/related.tsx';
import { columnsOf, isRight } from '../lists/columns.ts';
import { cell } from '../lists/record-table.tsx';
import { useText } from '../texts/texts.ts';

interface RelatedTableProps {
  readonly type: TypeInfo;
  readonly relation: RelationInfo;
  readonly rows: readonly ValueObject[];
}

const MAX_COLUMNS = 7;

function RelatedTable({ type, relation, rows }: RelatedTableProps) {
  const say = useText();
  if (rows.length === 0)
    return (
      <Typography variant="body2" sx={{ color: 'text.secondary' }}>
        {say('record.no_related')}
      </Typography>
    );
  const columns = columnsOf(type)
    .filter(({ kind, name }) => kind !== 'identifier' && name !== type.label && name !== relation.inverse)
    .filter(({ name }) => rows.some((row) => name in row))
    .slice(0, MAX_COLUMNS);
  const sets = type.relations.filter((set) => isToMany(set) && rows.some((row) => set.name in row));
  return (
    <Grid
      isNarrow
      label={relation.title}
      heads={[
        { key: '', title: type.title.one },
        ...columns.map((column) => ({ key: column.name, title: column.title, isRight: isRight(column) })),
        ...sets.map(({ name, title }) => ({ key: name, title })),
        ...(type.open ? [{ key: '#other', title: say('record.other_keys') }] : []),
      ]}
      rows={rows.map((values) => ({
        key: identifierOf(type, values),
        cells: [
          <Related key="" relation={relation} value={values} />,
          ...columns.map((column) => cell(column, values)),
          ...sets.map((set) => namesIn(set, values[set.name])),
          ...(type.open ? [otherKeys(type, values)] : []),
        ],
      }))}
    />
  );
}

/** The names of the records of a set within a set. */
const namesIn = (relation: RelationInfo, value: Value | undefined): ReactNode =>
  (isValueList(value) ? value : []).map((one, index) => (
    <Fragment key={isValueObject(one) ? writeJson(one) : index}>
      {index === 0 ? '' : ', '}
      <Related relation={relation} value={one} />
    </Fragment>
  ));

function otherKeys(type: TypeInfo, values: ValueObject): ReactNode {
  const others = otherValues(type, values);
  return others.length === 0 ? undefined : <code>{writeJson(Object.fromEntries(others))}</code>;
}

interface RelatedSetProps {
  readonly relation: RelationInfo;
  readonly value: Value | undefined;
}

export function RelatedSet({ relation, value }: RelatedSetProps) {
  const model = useModel();
  const rows = isValueList(value) ? value.filter(isValueObject) : [];
  return <RelatedTable type={typeNamed(model, relation.type)} relation={relation} rows={rows} />;
}

interface RelatedListProps {
  readonly relation: RelationInfo;
  readonly id: string;
}

const SHOWN = 10;

/** The first ones, and a way to the others. */
export function RelatedList({ relation, id }: RelatedListProps) {
  const say = useText();
  const type = typeNamed(useModel(), relation.type);
  const columns = columnsOf(type).slice(0, MAX_COLUMNS);
  const where = textOfWhere([[`_cnd[${relation.inverse ?? ''}][eq]`, id]]);
  const meta: ListMeta = { columns: columns.map(({ name }) => name) };
  const { data, pageInfo, error, refetch } = useGetList<StudioRecord>(
    type.path,
    { pagination: { page: 1, perPage: SHOWN }, sort: { field: '', order: 'ASC' }, filter: { where }, meta },
    { retry: false },
  );
  if (error) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return undefined;
  const search = addressSearch(new URLSearchParams({ filter: JSON.stringify({ where }) }).toString());
  return (
    <>
      <RelatedTable type={type} relation={relation} rows={data.map(({ values }) => values)} />
      {pageInfo?.hasNextPage === true && (
        <Alert severity="info" icon={false} sx={{ mt: 1 }}>
          <Button component={RouterLink} to={`/${type.path}${search}`} size="small">
            {say('record.all_related')}
          </Button>
        </Alert>
      )}
    </>
  );
}
