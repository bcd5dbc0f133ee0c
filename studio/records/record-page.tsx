/** A record as a whole: its values, what it leads to, and the sets that belong to it. */
import Box from '@mui/material/Box';
import Button from '@mui/material/Button';
import Link from '@mui/material/Link';
import Paper from '@mui/material/Paper';
import Typography from '@mui/material/Typography';
import { useGetOne } from 'ra-core';
import { type ReactNode, useEffect } from 'react';
import { Link as RouterLink } from 'react-router-dom';
import { listAddress } from '../app/kept-lists.ts';
import { Heading } from '../app/heading.tsx';
import { MoreMenu } from '../app/more-menu.tsx';
import { EditIcon } from '../app/icons.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { keepRecent } from '../app/recent.ts';
import { useVariant, VariantChoice } from '../app/variant-choice.tsx';
import { Waiting } from '../app/waiting.tsx';
import { isValueObject, textOf, type Value, type ValueObject } from '../data/json.ts';
import {
  can,
  isToMany,
  nameOf,
  otherValues,
  type RelationInfo,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import { hasOwnList } from '../data/includes.ts';
import { recordQuery, type StudioRecord } from '../data/provider.ts';
import { Shown } from '../presentations/shown.tsx';
import { Related } from '../fields/related.tsx';
import { useText } from '../texts/texts.ts';
import { DeleteButton } from './delete-button.tsx';
import { RelatedList, RelatedSet } from './related-records.tsx';

interface RecordPageProps {
  readonly type: TypeInfo;
  readonly id: string;
}

export default function RecordPage({ type, id }: RecordPageProps) {
  const say = useText();
  const model = useModel();
  const variant = useVariant();
  const { data, error, refetch } = useGetOne<StudioRecord>(type.path, { id, meta: { variant } }, { retry: false });
  const recent = data === undefined ? '' : nameOf(type, data.values);
  useEffect(() => {
    if (recent !== '') keepRecent({ path: type.path, id, name: recent });
  }, [type.path, id, recent]);
  if (error) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  const { values } = data;
  const [name, own] = [nameOf(type, values), `${type.title.one} ${id}`];
  const target = `${type.path}/${encodeURIComponent(id)}?${recordQuery(model, type, variant)}`;
  return (
    <>
      {can(type, 'list') && (
        <Link component={RouterLink} to={listAddress(type.path)} variant="body2">
          {type.title.many}
        </Link>
      )}
      <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, my: 1.5 }}>
        <Box sx={{ flexGrow: 1, minWidth: 0 }}>
          <Heading text={name} />
          {name !== own && (
            <Typography variant="body2" sx={{ color: 'text.secondary' }}>
              {own}
            </Typography>
          )}
        </Box>
        <VariantChoice type={type} />
        <MoreMenu groups={[]} sent={() => ({ method: 'GET', target })} />
        {can(type, 'delete') && <DeleteButton type={type} record={data} variant={variant} />}
        {can(type, 'update') && (
          <Button variant="contained" startIcon={<EditIcon />} component={RouterLink} to={`/${type.path}/${id}/edit`}>
            {say('record.edit')}
          </Button>
        )}
      </Box>
      <Paper variant="outlined" sx={{ p: 3 }}>
        <Values type={type} values={values} />
      </Paper>
      {type.relations.filter(isToMany).map((relation) => (
        <Box component="section" key={relation.name} sx={{ mt: 3 }} aria-label={relation.title}>
          <Typography variant="h2">{relation.title}</Typography>
          <Typography variant="body2" sx={{ color: 'text.secondary', mb: 1 }}>
            {relation.description}
          </Typography>
          {hasOwnList(model, relation) ? (
            <RelatedList relation={relation} id={id} />
          ) : (
            <RelatedSet relation={relation} value={values[relation.name]} />
          )}
        </Box>
      ))}
    </>
  );
}

interface ValuesProps {
  readonly type: TypeInfo;
  readonly values: ValueObject;
  /** Within another record, which says already which one this is. */
  readonly isPart?: boolean;
}

export function Values({ type, values, isPart = false }: ValuesProps) {
  const say = useText();
  const others = type.open ? otherValues(type, values) : [];
  return (
    <Box
      component="dl"
      sx={{ display: 'grid', gridTemplateColumns: { sm: 'minmax(9rem, 16rem) 1fr' }, gap: '0.35rem 1.5rem', m: 0 }}
    >
      {!isPart && <Line title={type.identifier.title}>{textOf(values[type.identifier.name])}</Line>}
      {type.fields
        .filter(({ name }) => name in values)
        .map((field) => (
          <Line key={field.name} title={field.title} help={field.description}>
            <Shown field={field} value={values[field.name]} />
          </Line>
        ))}
      {type.relations
        .filter((relation) => !isToMany(relation) && relation.name in values)
        .map((relation) => (
          <Line key={relation.name} title={relation.title} help={relation.description}>
            <Related relation={relation} value={values[relation.name]} />
            <Inside relation={relation} value={values[relation.name]} />
          </Line>
        ))}
      {others.map(([name, value]) => (
        <Line key={name} title={name} help={say('record.other_keys')}>
          <Shown field={OTHER} value={value} />
        </Line>
      ))}
    </Box>
  );
}

/** A record without a page of its own is shown within this one; of others, what is changed through this one. */
function Inside({ relation, value }: { readonly relation: RelationInfo; readonly value: Value | undefined }) {
  const type = typeNamed(useModel(), relation.type);
  if (!isValueObject(value)) return undefined;
  const relations = type.relations.filter(({ name }) => name !== relation.inverse && name in value);
  const hasPage = can(type, 'get');
  if (hasPage && relations.length === 0) return undefined;
  return (
    <Box sx={{ my: 1, paddingInlineStart: 2, borderInlineStart: 2, borderColor: 'divider' }}>
      <Values
        type={hasPage ? { ...type, fields: [], relations, open: false } : { ...type, relations }}
        values={value}
        isPart
      />
      {relations.filter(isToMany).map((one) => (
        <Box component="section" key={one.name} sx={{ mt: 1 }} aria-label={one.title}>
          <Typography variant="body2" sx={{ color: 'text.secondary' }}>
            {one.title}
          </Typography>
          <RelatedSet relation={one} value={value[one.name]} />
        </Box>
      ))}
    </Box>
  );
}

/** A key of an open type that no field names. */
const OTHER = { name: '', title: '', type: 'any', examples: [], operators: [], isOrderIndexed: false } as const;

interface LineProps {
  readonly title: string;
  readonly help?: string | undefined;
  readonly children: ReactNode;
}

const Line = ({ title, help, children }: LineProps) => (
  <>
    <Typography component="dt" variant="body2" title={help} sx={{ color: 'text.secondary', mt: { xs: 1, sm: 0 } }}>
      <bdi>{title}</bdi>
    </Typography>
    <Typography component="dd" variant="body2" sx={{ m: 0, minWidth: 0 }}>
      {children}
    </Typography>
  </>
);
