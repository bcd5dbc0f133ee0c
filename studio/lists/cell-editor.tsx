/** One value of a record, edited in its cell: Enter, Tab and arrows save and go on, Escape leaves it as it was. */
import { Box } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react';
import { FormProvider, useForm } from 'react-hook-form';
import { reasonOf } from '../app/fault-text.ts';
import { dropKeys, giveKeys, goTo, holdKeys } from '../app/typed-ahead.ts';
import { isValueObject, type Value } from '../data/json.ts';
import { identifierOf, nameOf, type TypeInfo, typeNamed, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { send } from '../data/request.ts';
import { Picker } from '../fields/picker.tsx';
import type { Member } from '../fields/member-value.tsx';
import type { Choice } from '../fields/search.ts';
import { draftFaultText } from '../forms/body.ts';
import { FieldInput } from '../forms/field-input.tsx';
import { COMPACT } from '../forms/set-table.tsx';
import { linkTo, queryOf } from '../many/change.ts';
import { isAlike } from '../many/import.ts';
import { draftOf, type FieldDraft, valueOf } from '../presentations/field-draft.ts';
import { useText } from '../texts/texts.ts';
import type { Step } from './cell-target.ts';

interface CellEditorProps {
  readonly type: TypeInfo;
  readonly id: string;
  readonly target: Member;
  /** As the list has read it. */
  readonly value: Value | undefined;
  /** Undefined: editing ends. */
  readonly onDone: (step: Step | undefined) => void;
}

const ARROWS: Readonly<Record<string, Step>> = { ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function stepOf({ key, shiftKey, target }: KeyboardEvent): Step | undefined {
  if (key === 'Enter') return [shiftKey ? -1 : 1, 0];
  if (key === 'Tab') return [0, shiftKey ? -1 : 1];
  // Arrows belong to inputs that choose with them.
  return target instanceof HTMLInputElement && target.type === 'text' && target.role === null ? ARROWS[key] : undefined;
}

export default function CellEditor({ type, id, target, value: stored, onDone }: CellEditorProps) {
  const say = useText();
  const model = useModel();
  const queries = useQueryClient();
  const path = `${type.path}/${encodeURIComponent(id)}?${queryOf(model, target)}`;
  const { field, relation, name } = target;
  const related = relation && typeNamed(model, relation.type);
  const began =
    related && isValueObject(stored)
      ? { id: identifierOf(related, stored), name: nameOf(related, stored, relation.label) }
      : null;
  const [choice, setChoice] = useState<Choice | null>(began);
  const draft = field ? draftOf(field, stored) : null;
  const form = useForm<{ value: FieldDraft }>({ defaultValues: { value: draft } });
  // Whoever types does not wait for it.
  const [read] = useState(() => {
    const reading = send({ method: 'GET', target: path });
    reading.catch(() => undefined);
    return reading;
  });
  const place = useRef<HTMLElement>(null);
  const isBusy = useRef(false);
  useLayoutEffect(() => {
    goTo(place.current?.querySelector<HTMLElement>('input, [role=combobox]'));
    void giveKeys();
  }, []);

  const save = async (): Promise<boolean> => {
    try {
      const typed = form.getValues('value');
      if (field ? typed === draft : choice?.id === began?.id) return true;
      const value = field
        ? (valueOf(field, typed) ?? null)
        : choice === null
          ? null
          : linkTo(model, relation, choice.id);
      const { body, headers: given } = await read;
      const there = isValueObject(body) ? body[name] : undefined;
      if (!isAlike(model, target, there, stored ?? null)) {
        form.setError('value', { message: say('problem.changed') });
        return false;
      }
      const tag = given.get('ETag');
      const headers: Readonly<Record<string, string>> = tag === null ? {} : { 'If-Match': tag };
      await send({ method: 'PUT', target: path, headers, body: { [name]: value } });
      await queries.invalidateQueries();
      return true;
    } catch (problem) {
      const isSent = problemOf(problem).status !== -1;
      const message = isSent ? reasonOf(say, model, type, problem) : draftFaultText(say, problem);
      form.setError('value', { message });
      return false;
    }
  };
  const go = async (step: Step | undefined): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    // What is typed meanwhile is meant for the next cell.
    if (step !== undefined) holdKeys();
    const isDone = await save();
    isBusy.current = false;
    if (isDone) onDone(step);
    else dropKeys();
  };
  const press = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.target instanceof Element && event.target.closest('[aria-expanded=true]') !== null) return;
    const step = stepOf(event);
    if (step === undefined && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    if (step !== undefined) return void go(step);
    // Its input loses the focus when it goes, and must not save what it had.
    isBusy.current = true;
    onDone(undefined);
  };
  return (
    <Box
      ref={place}
      className="cell"
      onKeyDownCapture={press}
      onBlur={({ currentTarget, relatedTarget }) => {
        // Its list of choices is beside the page.
        const isWithin = currentTarget.contains(relatedTarget) || relatedTarget?.closest('[role=presentation]');
        if (!isWithin && document.hasFocus()) void go(undefined);
      }}
      sx={{ ...COMPACT, whiteSpace: 'normal', width: 'min-content', minWidth: '100%' }}
    >
      <FormProvider {...form}>
        {field ? (
          <FieldInput field={field} path="value" />
        ) : (
          relation && (
            <Picker
              relation={relation}
              label={relation.title}
              value={choice}
              onChange={setChoice}
              fault={form.formState.errors.value?.message}
            />
          )
        )}
      </FormProvider>
    </Box>
  );
}
