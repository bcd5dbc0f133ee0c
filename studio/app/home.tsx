/** The first page: what happened; an empty database says so. */
import { Typography } from '@mui/material';
import { useMemo } from 'react';
import { firstMeasure, monthField } from '../charts/figures.ts';
import { can, listedTypes, useModel } from '../data/model.ts';
import { useTotals } from '../data/total.ts';
import { useText } from '../texts/texts.ts';
import { dialog } from './boundary.tsx';
import { Heading } from './heading.tsx';
import { Waiting } from './waiting.tsx';

const HomeCharts = dialog(() => import('../charts/home-charts.tsx'));

/** Each is a few summaries of all records of a type. */
const MOST_CHARTED = 2;
const MOST_ADDED = 50_000;

export function Home() {
  const say = useText();
  const model = useModel();
  const types = useMemo(() => listedTypes(model), [model]);
  const { totals, isCounting } = useTotals(types);
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
      {isCounting && charted.length === 0 && <Waiting />}
      {isEmpty && <Typography>{say('begin.title')}</Typography>}
      {charted.map((type) => (
        <HomeCharts key={type.path} type={type} />
      ))}
    </>
  );
}
