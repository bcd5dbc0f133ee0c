/** A new filter: a field, a condition and a value. */
import Autocomplete, { createFilterOptions } from '@mui/material/Autocomplete';
import Button from '@mui/material/Button';
import Dialog from '@mui/material/Dialog';
import DialogActions from '@mui/material/DialogActions';
import DialogContent from '@mui/material/DialogContent';
import DialogTitle from '@mui/material/DialogTitle';
import MenuItem from '@mui/material/MenuItem';
import TextField from '@mui/material/TextField';
import { type FormEvent, useState } from 'react';
import type { OperatorName } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { type FilterSubject, parameterOf } from './filter-terms.ts';

interface FilterDialogProps {
  readonly subjects: readonly FilterSubject[];
  readonly onClose: () => void;
  readonly onTerm: (parameter: string, values: readonly string[]) => void;
}

/** As many are drawn: a type may have a hundred fields, and lead to others. */
const filterOptions = createFilterOptions<FilterSubject>({ limit: 50 });

export function FilterDialog({ subjects, onClose, onTerm }: FilterDialogProps) {
  const say = useText();
  const [subject, setSubject] = useState<FilterSubject | null>(null);
  const [chosen, setOperator] = useState<OperatorName>();
  const [text, setText] = useState('');
  const operators = subject?.operators ?? [];
  const operator = operators.find((one) => one === chosen) ?? firstOperator(operators);
  const choices = subject === null ? undefined : choicesOf(subject, operator);
  const value = choices === undefined || choices.includes(text) ? text : (choices[0] ?? '');

  const add = (event: FormEvent): void => {
    event.preventDefault();
    if (subject === null) return;
    const values = operator === 'in' ? text.split('\n').filter((line) => line !== '') : [value];
    if (values.length > 0) onTerm(parameterOf(subject, operator), values);
  };
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm" aria-labelledby="filter-title">
      <form onSubmit={add}>
        <DialogTitle id="filter-title">{say('filter.add')}</DialogTitle>
        <DialogContent sx={{ display: 'grid', gap: 2, pt: '8px !important' }}>
          <Autocomplete
            options={subjects}
            value={subject}
            filterOptions={filterOptions}
            getOptionKey={({ path }) => path}
            getOptionLabel={({ title }) => title}
            onChange={(_event, next) => setSubject(next)}
            renderInput={(props) => <TextField {...props} label={say('filter.field')} autoFocus required />}
          />
          <TextField
            select
            label={say('filter.operator')}
            value={subject === null ? '' : operator}
            disabled={subject === null}
            onChange={({ target }) => setOperator(operators.find((one) => one === target.value))}
          >
            {operators.map((one) => (
              <MenuItem key={one} value={one}>
                {say(`operator.${one}`)}
              </MenuItem>
            ))}
          </TextField>
          {choices === undefined ? (
            <TextField
              label={say(operator === 'in' ? 'filter.values' : 'filter.value')}
              value={text}
              disabled={subject === null}
              multiline={operator === 'in'}
              minRows={operator === 'in' ? 3 : 1}
              helperText={operator === 'like' ? say('operator.like_help') : undefined}
              onChange={({ target }) => setText(target.value)}
            />
          ) : (
            <TextField
              select
              label={say('filter.value')}
              value={value}
              onChange={({ target }) => setText(target.value)}
            >
              {choices.map((choice) => (
                <MenuItem key={choice} value={choice}>
                  {choice === 'true'
                    ? say('value.yes')
                    : choice === 'false'
                      ? say('value.no')
                      : (subject?.field?.titles?.[choice] ?? choice)}
                </MenuItem>
              ))}
            </TextField>
          )}
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose} color="inherit">
            {say('filter.cancel')}
          </Button>
          <Button type="submit" variant="contained" disabled={subject === null}>
            {say('filter.apply')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Texts are mostly known in part. */
const firstOperator = (operators: readonly OperatorName[]): OperatorName =>
  operators.includes('like') ? 'like' : (operators[0] ?? 'eq');

const FLAGS = ['true', 'false'];

function choicesOf({ field }: FilterSubject, operator: OperatorName): readonly string[] | undefined {
  if (operator === 'null') return FLAGS;
  if (operator === 'in' || operator === 'like') return undefined;
  return field?.type === 'boolean' ? FLAGS : field?.enum;
}
