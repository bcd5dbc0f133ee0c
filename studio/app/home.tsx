/** The first page: key figures of every type, and what happened; in an empty database, how to begin. */
import { Box, Card, CardActionArea, Typography } from '@mui/material';
import { useMemo } from 'react';
import { Link } from 'react-router-dom';
import { firstMeasure, monthField } from '../charts/figures.ts';
import { can, listedTypes, useModel } from '../data/model.ts';
import { useTotals } from '../data/total.ts';
import { numberText, useText } from '../texts/texts.ts';
import { dialog } from './boundary.tsx';
import { Heading } from './heading.tsx';
import { TypeIcon } from './type-icon.tsx';

const HomeCharts = dialog(() => import('../charts/home-charts.tsx'));
const Beginning = dialog(() => import('./beginning.tsx'));

/** Each is a few summaries of all records of a type. */
const MOST_CHARTED = 2;
const MOST_ADDED = 50_000;

export function Home() {
  const say = useText();
  const model = useModel();
  const types = useMemo(() => listedTypes(model), [model]);
  const totals = useTotals(types);
  const made = types.filter((type) => can(type, 'create'));
  const isEmpty = made.length > 0 && made.every(({ path }) => totals.get(path)?.count === 0);
  const charted = types
    .filter((type) => monthField(type) !== undefined)
    .filter(({ path }) => (totals.get(path)?.count ?? 0) > 0 && (totals.get(path)?.count ?? 0) <= MOST_ADDED)
    .toSorted((one, other) => Number(firstMeasure(other) !== undefined) - Number(firstMeasure(one) !== undefined))
    .slice(0, MOST_CHARTED);
  return (
    <>
      <Heading text={say(types.length === 0 ? 'app.nothing' : 'app.home')} sx={{ mb: 2 }} />
      {isEmpty && <Beginning types={types} />}
      <Box
        component="ul"
        sx={{
          display: 'grid',
          gridTemplateColumns: 'repeat(auto-fill, minmax(min(100%, 9.5rem), 1fr))',
          gap: 1.5,
          p: 0,
          m: 0,
          listStyle: 'none',
        }}
      >
        {types.map((type) => {
          const total = totals.get(type.path);
          return (
            <Card key={type.type} component="li" variant="outlined">
              <CardActionArea
                component={Link}
                to={`/${type.path}`}
                title={type.description}
                sx={{ p: 2, height: '100%', display: 'block' }}
              >
                <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, color: 'text.secondary' }}>
                  <TypeIcon of={type} />
                  <Typography variant="body2" component="h2" noWrap>
                    {type.title.many}
                  </Typography>
                </Box>
                {/* Of many types, none is counted here. */}
                <Typography sx={{ fontSize: '1.75rem', fontWeight: 650, fontVariantNumeric: 'tabular-nums' }}>
                  {total !== undefined && numberText(total.count)}
                </Typography>
              </CardActionArea>
            </Card>
          );
        })}
      </Box>
      {charted.map((type) => (
        <HomeCharts key={type.path} type={type} />
      ))}
    </>
  );
}
