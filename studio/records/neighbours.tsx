/** From record to record, in the order of the list that was left. */
import IconButton from '@mui/material/IconButton';
import { useNotify } from 'ra-core';
import { useNavigate } from 'react-router-dom';
import { NextIcon, PreviousIcon } from '../app/icons.tsx';
import { useKeys } from '../app/keys.ts';
import { type Neighbour, neighbourAt, neighboursOf } from '../app/kept-lists.ts';
import { problemText } from '../app/problem-alert.tsx';
import { recordPath, type TypeInfo } from '../data/model.ts';
import { UNCOUNTED } from '../data/provider.ts';
import { send } from '../data/request.ts';
import { useText } from '../texts/texts.ts';

interface NeighboursProps {
  readonly type: TypeInfo;
  readonly id: string;
  readonly variant: string | undefined;
}

export function Neighbours({ type, id, variant }: NeighboursProps) {
  const say = useText();
  const notify = useNotify();
  const navigate = useNavigate();
  const { before, after } = neighboursOf(type.path, id);
  const go = async (to: Neighbour): Promise<void> => {
    try {
      const next = await neighbourAt(
        type,
        to,
        async (target) => (await send({ method: 'GET', target, headers: UNCOUNTED })).body,
      );
      if (next === undefined) notify(say('record.last'), { type: 'info' });
      else await navigate(recordPath(type, next, variant));
    } catch (problem) {
      notify(problemText(say, problem), { type: 'error' });
    }
  };
  useKeys({ k: before && (() => void go(before)), j: after && (() => void go(after)) });
  if (before === undefined && after === undefined) return undefined;
  return (
    <>
      <IconButton
        size="small"
        aria-label={say('record.previous')}
        title={say('record.previous')}
        disabled={before === undefined}
        onClick={() => before && void go(before)}
      >
        <PreviousIcon />
      </IconButton>
      <IconButton
        size="small"
        aria-label={say('record.next')}
        title={say('record.next')}
        onClick={() => after && void go(after)}
      >
        <NextIcon />
      </IconButton>
    </>
  );
}
