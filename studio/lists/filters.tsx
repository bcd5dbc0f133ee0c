/** The filters of a list: what is set, and adding another. */
import Box from '@mui/material/Box';
import Button from '@mui/material/Button';
import Chip from '@mui/material/Chip';
import { useListContext } from 'ra-core';
import { useMemo, useState } from 'react';
import { FilterIcon } from '../app/icons.tsx';
import { textOfWhere, type Where, whereOf } from '../data/list-request.ts';
import { type TypeInfo, useModel } from '../data/model.ts';
import { type Say, useText } from '../texts/texts.ts';
import { FilterDialog } from './filter-dialog.tsx';
import { type FilterTerm, subjectsOf, termsOf, withoutTerm, withTerm } from './filter-terms.ts';

export function Filters({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const model = useModel();
  const { filterValues, setFilters } = useListContext();
  const subjects = useMemo(() => subjectsOf(model, type), [model, type]);
  const [isOpen, setOpen] = useState(false);
  const where = whereOf((filterValues as { readonly where?: string }).where ?? '');
  const terms = termsOf(where, subjects);
  const set = (next: Where): void => setFilters(next.length === 0 ? {} : { where: textOfWhere(next) }, [], false);
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, mb: 1 }}>
      {terms.map((term) => {
        const text = textOfTerm(say, term);
        return (
          <Chip
            key={term.parameter}
            label={<bdi>{text}</bdi>}
            onDelete={() => set(withoutTerm(where, term.parameter))}
            slotProps={{ root: { 'aria-label': say('filter.remove', { filter: text }) } }}
            sx={{ maxWidth: '100%' }}
          />
        );
      })}
      <Button size="small" startIcon={<FilterIcon />} onClick={() => setOpen(true)}>
        {say('filter.add')}
      </Button>
      {terms.length > 1 && (
        <Button size="small" color="inherit" onClick={() => set([])}>
          {say('filter.clear')}
        </Button>
      )}
      {isOpen && (
        <FilterDialog
          subjects={subjects}
          onClose={() => setOpen(false)}
          onTerm={(parameter, values) => {
            setOpen(false);
            set(withTerm(where, parameter, values));
          }}
        />
      )}
    </Box>
  );
}

function textOfTerm(say: Say, { subject, parameter, operator, values }: FilterTerm): string {
  if (subject === undefined) return `${parameter}=${values.join(', ')}`;
  const isFlag = operator === 'null' || subject.field?.type === 'boolean';
  const shown = values.map((value) =>
    isFlag ? say(value === 'true' ? 'value.yes' : 'value.no') : (subject.field?.titles?.[value] ?? `“${value}”`),
  );
  return `${subject.title} ${say(`operator.${operator}`)} ${shown.join(', ')}`;
}
