/** From page to page, and how many records there are. */
import Box from '@mui/material/Box';
import IconButton from '@mui/material/IconButton';
import MenuItem from '@mui/material/MenuItem';
import TextField from '@mui/material/TextField';
import Tooltip from '@mui/material/Tooltip';
import Typography from '@mui/material/Typography';
import Button from '@mui/material/Button';
import { useListContext } from 'ra-core';
import { FirstIcon, NextIcon, PreviousIcon } from '../app/icons.tsx';
import type { TypeInfo } from '../data/model.ts';
import type { Total } from '../data/total.ts';
import { numberText, type Say, useText } from '../texts/texts.ts';

const SIZES = [10, 25, 50, 100];

interface PagerProps {
  readonly type: TypeInfo;
  readonly total: Total | undefined;
  /** Has the records counted where the total is an estimate. */
  readonly onCount: () => void;
}

export function Pager({ type, total, onCount }: PagerProps) {
  const say = useText();
  const { page, perPage, setPage, setPerPage, data = [], hasNextPage } = useListContext();
  const from = (page - 1) * perPage + 1;
  const range = say('list.range', { from: numberText(from), to: numberText(from + data.length - 1) });
  const isPart = data.length > 0 && (page > 1 || hasNextPage === true);
  const sizes = [...new Set([...SIZES.filter((size) => size <= type.list.maxLimit), perPage])].toSorted(
    (a, b) => a - b,
  );
  const steps = [
    { key: 'list.first', Icon: FirstIcon, to: 1, isOff: page === 1 },
    { key: 'list.previous', Icon: PreviousIcon, to: page - 1, isOff: page === 1 },
    { key: 'list.next', Icon: NextIcon, to: page + 1, isOff: hasNextPage !== true },
  ] as const;
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 2, mt: 1.5 }}>
      <Typography variant="body2" role="status" sx={{ color: 'text.secondary', flexGrow: 1 }}>
        {[total && totalText(say, total), isPart && range].filter(Boolean).join(', ')}
        {total?.isEstimate === true && (
          <Button size="small" onClick={onCount} sx={{ marginInlineStart: 1 }}>
            {say('list.count')}
          </Button>
        )}
      </Typography>
      <TextField
        select
        label={say('list.per_page')}
        value={perPage}
        onChange={({ target }) => setPerPage(Number(target.value))}
        sx={{ width: 150 }}
      >
        {sizes.map((size) => (
          <MenuItem key={size} value={size}>
            {size}
          </MenuItem>
        ))}
      </TextField>
      <Box>
        {steps.map(({ key, Icon, to, isOff }) => (
          <Tooltip key={key} title={say(key)}>
            <span>
              <IconButton aria-label={say(key)} disabled={isOff} onClick={() => setPage(to)}>
                <Icon sx={{ transform: (theme) => (theme.direction === 'rtl' ? 'scaleX(-1)' : 'none') }} />
              </IconButton>
            </span>
          </Tooltip>
        ))}
      </Box>
    </Box>
  );
}

export const totalText = (say: Say, { count, isEstimate }: Total): string =>
  say(isEstimate ? 'list.about' : 'list.total', { smart_count: count, formatted: numberText(count) });
