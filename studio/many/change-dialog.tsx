/** Gives one field of many records the same value. Whoever has changed a record meanwhile is not overwritten unseen. */
import { Alert, Button, Stack, Typography } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { type FormEvent, useState } from 'react';
import { FormProvider, useForm } from 'react-hook-form';
import { reasonOf } from '../app/fault-text.ts';
import { Grid } from '../app/grid.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Select } from '../app/select.tsx';
import { Window } from '../app/window.tsx';
import { isSameValue, type Value, type ValueObject } from '../data/json.ts';
import { can, identifierOf, nameOf, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { Picker } from '../fields/picker.tsx';
import { type Member, MemberValue } from '../fields/member-value.tsx';
import type { Choice } from '../fields/search.ts';
import { type FieldDraft, valueOf } from '../presentations/field-draft.ts';
import { draftFaultText } from '../forms/body.ts';
import { FieldInput } from '../forms/field-input.tsx';
import { numberText, useText } from '../texts/texts.ts';
import {
  attempt,
  type Change,
  type Item,
  isTagged,
  linkTo,
  look,
  partsOf,
  sampleOf,
  targetsOf,
  writePart,
} from './change.ts';
import { type Chosen, idsOf, type LeftOut } from './chosen.ts';
import { LeftOutTable } from './left-out-table.tsx';
import { ProgressBar } from './progress-bar.tsx';
import { useWork } from './use-work.ts';

interface ChangeDialogProps {
  readonly chosen: Chosen;
  readonly onClose: (isDone: boolean) => void;
}

interface Plan {
  readonly change: Change;
  readonly items: readonly Item[];
  /** How many have the value already; undefined where nobody has looked. */
  readonly same: number | undefined;
  /** Some of the records, as they are. */
  readonly sample: readonly ValueObject[];
}

/** The progress so far: the items of the plan before `next` are done. */
interface Outcome {
  readonly next: number;
  readonly leftOut: readonly LeftOut[];
}

const VALUE = 'value';
const MOST_SHOWN = 5;

export default function ChangeDialog({ chosen, onClose }: ChangeDialogProps) {
  const { type } = chosen;
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const queries = useQueryClient();
  const targets = targetsOf(type);
  const [target, setTarget] = useState<Member>();
  const form = useForm<{ value: FieldDraft }>({ defaultValues: { value: null } });
  const [choice, setChoice] = useState<Choice | null>(null);
  const work = useWork();
  const { run, progress, isWorking, error } = work;
  const [plan, setPlan] = useState<Plan>();
  const [outcome, setOutcome] = useState<Outcome>();

  const choose = (name: string): void => {
    const next = targets.find((one) => one.name === name);
    setTarget(next);
    setChoice(null);
    form.clearErrors();
    form.setValue(VALUE, next && firstDraft(next));
  };

  const valueFor = ({ field, relation }: Member): Value => {
    if (field) return valueOf(field, form.getValues(VALUE)) ?? null;
    return choice === null ? null : linkTo(model, relation, choice.id);
  };

  const prepare = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (target === undefined) return;
    let given: Value;
    try {
      given = valueFor(target);
    } catch (problem) {
      form.setError(VALUE, { message: draftFaultText(say, problem) });
      return;
    }
    await run(async (tools) => {
      const change = { type, target, value: given };
      const ids = await idsOf(chosen, tools.report, tools.signal);
      const seen = await look(model, change, ids, tools);
      const [first] = seen?.items ?? [];
      if (seen === undefined || first === undefined) return false;
      try {
        await attempt(model, change, first, tools.signal);
      } catch (problem) {
        if (problemOf(problem).status !== 422) throw problem;
        form.setError(VALUE, { message: reasonOf(say, model, type, problem) });
        return false;
      }
      const isLooked = isTagged(type, ids.length);
      const same = seen.values.filter((value) => isSameValue(value, change.value)).length;
      const sample = can(type, 'list') ? await sampleOf(change, ids.slice(0, MOST_SHOWN), tools.signal) : [];
      setPlan({ change, items: seen.items, same: isLooked && target.field !== undefined ? same : undefined, sample });
      return true;
    });
  };

  const write = async ({ change, items }: Plan, begun: Outcome): Promise<void> => {
    let now = begun;
    setOutcome(now);
    const isDone = await run(async ({ signal, report, isStopped }) => {
      report({ done: now.next, total: items.length });
      for (const part of partsOf(model, items.slice(begun.next))) {
        if (isStopped()) return false;
        const leftOut = await writePart(model, change, part, signal);
        now = { next: now.next + part.length, leftOut: [...now.leftOut, ...leftOut] };
        setOutcome(now);
        report({ done: now.next, total: items.length });
      }
      return true;
    });
    queries.removeQueries({ queryKey: [type.path, 'getOne'] });
    await queries.invalidateQueries();
    const changed = now.next - now.leftOut.length;
    if (!isDone || now.leftOut.length > 0) return;
    notify(say('many.changed', { smart_count: changed, formatted: numberText(changed) }), { type: 'success' });
    onClose(true);
  };

  const total = plan?.items.length ?? 0;
  const isOver = outcome !== undefined && !isWorking;
  const count = chosen.ids?.length;
  return (
    <Window
      title={
        count === undefined && plan === undefined
          ? say('many.change_all_title', { types: type.title.many })
          : say('many.change_title', { smart_count: count ?? total, formatted: numberText(count ?? total) })
      }
      width="sm"
      onClose={() => onClose(outcome !== undefined)}
      closeText={say(outcome === undefined ? 'filter.cancel' : 'app.close')}
      onSubmit={(event) => void prepare(event)}
      work={isWorking && outcome !== undefined ? work : undefined}
      actions={
        <>
          {plan !== undefined && outcome === undefined && !isWorking && (
            <Button color="inherit" onClick={() => setPlan(undefined)}>
              {say('many.back')}
            </Button>
          )}
          {plan === undefined ? (
            <Button key="look" type="submit" variant="contained" disabled={isWorking || target === undefined}>
              {say('many.next')}
            </Button>
          ) : (
            (outcome === undefined || (isOver && outcome.next < total)) && (
              <Button
                key="write"
                variant="contained"
                disabled={isWorking}
                onClick={() => void write(plan, outcome ?? { next: 0, leftOut: [] })}
              >
                {outcome === undefined
                  ? say('many.change_title', { smart_count: total, formatted: numberText(total) })
                  : say('many.go_on')}
              </Button>
            )
          )}
        </>
      }
    >
      <Stack spacing={2}>
        {plan === undefined ? (
          <>
            <Select
              label={say('filter.field')}
              value={target?.name ?? ''}
              disabled={isWorking}
              autoFocus
              onChoose={choose}
              options={targets.map(({ name, title }) => [name, title])}
            />
            <FormProvider {...form}>
              {target?.field && <FieldInput key={target.name} field={target.field} path={VALUE} />}
            </FormProvider>
            {target?.relation && (
              <Picker
                key={target.name}
                relation={target.relation}
                label={target.relation.title}
                value={choice}
                onChange={setChoice}
                help={target.relation.description}
                fault={form.formState.errors.value?.message}
              />
            )}
          </>
        ) : (
          <>
            <Typography>
              {plan.change.target.title}: <Given plan={plan} choice={choice} />
            </Typography>
            {outcome === undefined && (
              <>
                <Grid
                  label={say('many.sample')}
                  rows={plan.sample.map((values) => ({
                    key: identifierOf(type, values),
                    cells: [
                      <bdi key="name">{nameOf(type, values)}</bdi>,
                      <span key="change">
                        <MemberValue member={plan.change.target} value={values[plan.change.target.name]} /> →{' '}
                        <Given plan={plan} choice={choice} />
                      </span>,
                    ],
                  }))}
                />
                {total > plan.sample.length && plan.sample.length > 0 && (
                  <Typography variant="body2">
                    {say('import.more', { smart_count: total - plan.sample.length })}
                  </Typography>
                )}
              </>
            )}
          </>
        )}
        {plan && outcome === undefined && !isWorking && (
          <Alert severity="info">
            {[
              plan.same !== undefined && plan.same > 0 && say('many.same', { smart_count: plan.same }),
              say(isTagged(type, total) ? 'many.guarded' : 'many.unguarded'),
            ]
              .filter(Boolean)
              .join(' ')}
          </Alert>
        )}
        {error !== undefined && <ProblemAlert error={error} />}
        {progress && (
          <ProgressBar label={say(outcome === undefined ? 'many.looking' : 'many.changing')} progress={progress} />
        )}
        {isOver && (
          <Alert severity="warning">
            {say('many.changed_part', {
              done: numberText(outcome.next - outcome.leftOut.length),
              total: numberText(total),
            })}
          </Alert>
        )}
      </Stack>
      {outcome && <LeftOutTable type={type} leftOut={outcome.leftOut} />}
    </Window>
  );
}

/** The most likely first value. */
function firstDraft({ field }: Member): FieldDraft {
  if (field === undefined || field.nullable !== false) return null;
  return field.type === 'boolean' ? false : (field.enum?.[0] ?? '');
}

function Given({ plan: { change }, choice }: { readonly plan: Plan; readonly choice: Choice | null }) {
  const { target, value } = change;
  return choice === null ? <MemberValue member={target} value={value} /> : <bdi>{choice.name}</bdi>;
}
