/** A record as a whole: its values, what it leads to, and the sets that belong to it. */
import { Box, Button, Link, Paper, Tab, Tabs, Typography } from '@mui/material';
import { useGetOne } from 'ra-core';
import { type ReactNode, useState } from 'react';
import { Link as RouterLink, useNavigate } from 'react-router-dom';
import { listAddress } from '../app/kept-lists.ts';
import { page } from '../app/boundary.tsx';
import { Heading } from '../app/heading.tsx';
import { AddIcon, CopyIcon, EditIcon } from '../app/icons.tsx';
import { useKeys } from '../app/keys.ts';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { useVariant, VariantChoice } from '../app/variant-choice.tsx';
import { Waiting } from '../app/waiting.tsx';
import { isValueObject, textOf, type Value, type ValueObject } from '../data/json.ts';
import { useAllowed } from '../data/allowed.ts';
import {
  can,
  type FieldInfo,
  isChosen,
  isToMany,
  nameOf,
  recordPath,
  otherValues,
  type RelationInfo,
  type TypeInfo,
  typeNamed,
  useModel,
} from '../data/model.ts';
import { hasOwnList } from '../data/includes.ts';
import type { StudioRecord } from '../data/provider.ts';
import { Shown } from '../presentations/shown.tsx';
import { Related } from '../fields/related.tsx';
import { inSentence, useText } from '../texts/texts.ts';
import { duplicateAddress, newAddress, openAddress } from '../forms/prefilled.ts';
import { DeleteButton } from './delete-button.tsx';
import { layoutOf, type RecordLayout } from './layout.ts';
import { RelatedList, RelatedSet } from './related-records.tsx';

const History = page(() => import('./history.tsx'));

interface RecordPageProps {
  readonly type: TypeInfo;
  readonly id: string;
}

export default function RecordPage({ type: all, id }: RecordPageProps) {
  const type = useAllowed(all, id);
  const say = useText();
  const model = useModel();
  const navigate = useNavigate();
  const variant = useVariant();
  const { data, error, refetch } = useGetOne<StudioRecord>(type.path, { id, meta: { variant } }, { retry: false });
  const [tab, setTab] = useState('record');
  const edit = `${recordPath(type, id)}/edit`;
  useKeys({ e: can(type, 'update') ? () => void navigate(edit) : undefined });
  if (error) return <ProblemAlert error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  const { values } = data;
  const [name, own] = [nameOf(type, values), `${type.title.one} ${id}`];
  const layout = layoutOf(model, type, values);
  const { state, figures } = layout;
  return (
    <>
      {can(type, 'list') && (
        <Link component={RouterLink} to={listAddress(type.path)} variant="body2" sx={{ displayPrint: 'none' }}>
          {type.title.many}
        </Link>
      )}
      <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, mb: 2 }}>
        <Box sx={{ flexGrow: 1, minWidth: 0 }}>
          <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', columnGap: 1.5 }}>
            <Heading text={name} />
            {state !== undefined && (
              <span title={state.title}>
                <Shown field={state} value={values[state.name]} record={values} />
              </span>
            )}
          </Box>
          {name !== own && (
            <Typography variant="body2" sx={{ color: 'text.secondary' }}>
              {own}
            </Typography>
          )}
        </Box>
        {figures.map((field) => (
          <Box key={field.name} sx={{ px: 1.5, textAlign: 'end' }} title={field.description}>
            <Typography variant="caption" component="div" sx={{ color: 'text.secondary' }}>
              {field.title}
            </Typography>
            <Typography component="div" sx={{ fontSize: '1.25rem', fontWeight: 650, lineHeight: 1.2 }}>
              <Shown field={field} value={values[field.name]} record={values} />
            </Typography>
          </Box>
        ))}
        <VariantChoice type={type} />
        {can(type, 'update') && (
          <Button variant="contained" startIcon={<EditIcon />} component={RouterLink} to={edit}>
            {say('record.edit')}
          </Button>
        )}
        {can(type, 'create') && (
          <Button color="inherit" startIcon={<CopyIcon />} component={RouterLink} to={duplicateAddress(type, id)}>
            {say('record.duplicate')}
          </Button>
        )}
        {can(type, 'delete') && <DeleteButton type={type} record={data} variant={variant} />}
      </Box>
      {type.history && (
        <Tabs value={tab} onChange={(_event, next: string) => setTab(next)} sx={{ mb: 2 }}>
          <Tab value="record" label={type.title.one} />
          <Tab value="history" label={say('history.title')} />
        </Tabs>
      )}
      {tab === 'history' ? (
        <History type={type} record={data} variant={variant} />
      ) : (
        <Content type={type} id={id} values={values} layout={layout} />
      )}
    </>
  );
}

interface ContentProps extends RecordPageProps {
  readonly values: ValueObject;
  readonly layout: RecordLayout;
}

function Content({ type, id, values, layout: { fields, relations, rail } }: ContentProps) {
  const say = useText();
  const hasRail = rail.fields.length + rail.relations.length > 0;
  const hasMiddle = fields.length > 0 || (type.open && otherValues(type, values).length > 0);
  return (
    <Box
      sx={{
        display: 'grid',
        gap: 2,
        alignItems: 'start',
        gridTemplateColumns: {
          xs: 'minmax(0, 1fr)',
          lg: hasRail ? 'minmax(0, 1fr) minmax(16rem, 20rem)' : undefined,
        },
      }}
    >
      <Box sx={{ display: 'grid', gap: 2.5, minWidth: 0 }}>
        {hasMiddle && (
          <Paper variant="outlined" sx={{ p: { xs: 2, sm: 3 } }}>
            <Values type={type} values={values} fields={fields} relations={hasRail ? [] : rail.relations} />
          </Paper>
        )}
        {relations.map((relation) => (
          <Box component="section" key={relation.name} aria-label={relation.title} sx={{ minWidth: 0 }}>
            <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, mb: 1 }}>
              <Typography variant="h2" sx={{ flexGrow: 1, minWidth: 0, overflowWrap: 'anywhere' }}>
                {relation.title}: <Related relation={relation} value={values[relation.name]} />
              </Typography>
              {can(type, 'update') && relation.nested === 'write' && isChosen(relation, 'update') && (
                <Button
                  size="small"
                  startIcon={<EditIcon />}
                  component={RouterLink}
                  to={openAddress(type, id, relation.name)}
                >
                  {say('form.edit', { name: inSentence(relation.title) })}
                </Button>
              )}
            </Box>
            <Paper variant="outlined" sx={{ p: 2 }}>
              <Inside relation={relation} value={values[relation.name]} />
            </Paper>
          </Box>
        ))}
        {type.relations.filter(isToMany).map((relation) => (
          <RelatedSection key={relation.name} relation={relation} id={id} value={values[relation.name]} />
        ))}
      </Box>
      {hasRail && (
        <Paper variant="outlined" component="aside" aria-label={say('record.facts')} sx={{ p: 2, pt: 1 }}>
          <Values type={type} values={values} {...rail} isRail />
        </Paper>
      )}
    </Box>
  );
}

/** A set of the record: with a way to make another of them that belongs to it. */
function RelatedSection({
  relation,
  id,
  value,
}: {
  readonly relation: RelationInfo;
  readonly id: string;
  readonly value: Value | undefined;
}) {
  const say = useText();
  const model = useModel();
  const target = typeNamed(model, relation.type);
  const isListed = hasOwnList(model, relation);
  const back = target.relations.find(({ name }) => name === relation.inverse);
  return (
    <Box component="section" aria-label={relation.title} sx={{ minWidth: 0 }}>
      <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, mb: 1 }}>
        <Box sx={{ flexGrow: 1, minWidth: 0 }}>
          <Typography variant="h2">{relation.title}</Typography>
          <Typography variant="body2" sx={{ color: 'text.secondary' }}>
            {relation.description}
          </Typography>
        </Box>
        {isListed && can(target, 'create') && back !== undefined && isChosen(back, 'create') && (
          <Button
            size="small"
            startIcon={<AddIcon />}
            component={RouterLink}
            to={newAddress(target, { [back.name]: id })}
          >
            {say('list.create', { type: inSentence(target.title.one) })}
          </Button>
        )}
      </Box>
      {isListed ? <RelatedList relation={relation} id={id} /> : <RelatedSet relation={relation} value={value} />}
    </Box>
  );
}

interface ValuesProps {
  readonly type: TypeInfo;
  readonly values: ValueObject;
  readonly fields: readonly FieldInfo[];
  readonly relations: readonly RelationInfo[];
  /** Within another record, which says already which one this is. */
  readonly isPart?: boolean;
  /** In the narrow column beside the record. */
  readonly isRail?: boolean;
}

export function Values({ type, values, fields, relations, isPart = false, isRail = false }: ValuesProps) {
  const say = useText();
  const others = type.open && !isRail ? otherValues(type, values) : [];
  return (
    <Box
      component="dl"
      sx={{
        display: 'grid',
        gridTemplateColumns: isRail ? undefined : { sm: 'minmax(9rem, 14rem) 1fr' },
        gap: isRail ? 0 : '0.35rem 1.5rem',
        '& dt': isRail ? { mt: 1, fontSize: '0.75rem' } : {},
        m: 0,
      }}
    >
      {relations.map((relation) => (
        <Line key={relation.name} title={relation.title} help={relation.description}>
          <Related relation={relation} value={values[relation.name]} />
          {isPart && <Inside relation={relation} value={values[relation.name]} />}
        </Line>
      ))}
      {fields.map((field) => (
        <Line key={field.name} title={field.title} help={field.description}>
          <Shown field={field} value={values[field.name]} record={values} />
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
    <>
      <Values
        type={hasPage ? { ...type, open: false } : type}
        values={value}
        fields={hasPage ? [] : type.fields.filter(({ name }) => textOf(value[name]) !== '')}
        relations={relations.filter((one) => !isToMany(one))}
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
    </>
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
