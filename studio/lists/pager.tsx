/** From page to page, and how many records there are. */
import { Box, Button, Typography } from '@mui/material';
import { useListContext } from 'ra-core';
import { FirstIcon, NextIcon, PreviousIcon } from '../app/icons.tsx';
import { SmallButton } from '../app/small-button.tsx';
import type { Total } from '../data/total.ts';
import { numberText, type Say, useText } from '../texts/texts.ts';

interface PagerProps {
  readonly total: Total | undefined;
  /** Has the records counted where the total is an estimate. */
  readonly onCount: () => void;
}

export function Pager({ total, onCount }: PagerProps) {
  const say = useText();
  const { page, perPage, setPage, data = [], hasNextPage } = useListContext();
  const from = (page - 1) * perPage + 1;
  const range = say('list.range', { from: numberText(from), to: numberText(from + data.length - 1) });
  const isPart = data.length > 0 && (page > 1 || hasNextPage === true);
  const steps = [
    { key: 'list.first', Icon: FirstIcon, to: 1, isOff: page === 1 },
    { key: 'list.previous', Icon: PreviousIcon, to: page - 1, isOff: page === 1 },
    { key: 'list.next', Icon: NextIcon, to: page + 1, isOff: hasNextPage !== true },
  ] as const;
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 0.5, flex: { xs: '1 1 0', sm: 'none' } }}>
      <Typography variant="body2" role="status" sx={{ color: 'text.secondary', fontVariantNumeric: 'tabular-nums' }}>
        {[total && totalText(say, total), isPart && range].filter(Boolean).join(' · ')}
        {total?.isEstimate === true && (
          <Button size="small" onClick={onCount} sx={{ marginInlineStart: 1 }}>
            {say('list.count')}
          </Button>
        )}
      </Typography>
      {isPart && (
        <Box sx={{ whiteSpace: 'nowrap' }}>
          {steps.map(({ key, Icon, to, isOff }) => (
            <SmallButton key={key} text={say(key)} Icon={Icon} isOff={isOff} onClick={() => setPage(to)} />
          ))}
        </Box>
      )}
    </Box>
  );
}

const totalText = (say: Say, { count, isEstimate }: Total): string =>
  say(isEstimate ? 'list.about' : 'list.total', { smart_count: count, formatted: numberText(count) });
