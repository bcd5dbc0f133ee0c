/** A record that is made while another one is typed: it is stored at once, and then linked. */
import { Box, Button } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useMemo, useRef, useState } from 'react';
import { FormProvider, useForm } from 'react-hook-form';
import { worded } from '../app/fault-text.ts';
import { Window } from '../app/window.tsx';
import { createAttempts } from '../data/attempts.ts';
import { isValueObject } from '../data/json.ts';
import { identifierOf, nameOf, type TypeInfo, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { send } from '../data/request.ts';
import type { Choice } from '../fields/search.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { bodyOf, DraftFault, draftFaultText } from './body.ts';
import { keyOf, newDraft, type RecordDraft } from './draft.ts';
import { messagesAt } from './faults.ts';
import { FormProblem } from './form-problem.tsx';
import { RecordInputs } from './record-inputs.tsx';
import { inputFor } from './relation-input.tsx';

interface NewRecordDialogProps {
  readonly type: TypeInfo;
  /** What was looked for, and not found. */
  readonly typed: string;
  readonly onClose: () => void;
  readonly onMade: (choice: Choice) => void;
}

export default function NewRecordDialog({ type, typed, onClose, onMade }: NewRecordDialogProps) {
  const say = useText();
  const model = useModel();
  const queries = useQueryClient();
  const draft = useMemo((): RecordDraft => {
    const empty = newDraft(type);
    const key = keyOf(type.label ?? '');
    return key in empty ? { ...empty, [key]: typed } : empty;
  }, [type, typed]);
  const form = useForm<Record<string, unknown>>({ defaultValues: { ...draft } });
  const [error, setError] = useState<unknown>();
  const [isSaving, setSaving] = useState(false);
  const attempts = useRef(createAttempts()).current;
  const save = async (): Promise<void> => {
    setError(undefined);
    form.clearErrors();
    const now = structuredClone(form.getValues() as RecordDraft);
    try {
      const body = bodyOf({ model, type, path: '' }, now, {});
      setSaving(true);
      const { body: stored } = await send(attempts.keyed({ method: 'POST', target: type.path, body }));
      const values = isValueObject(stored) ? stored : {};
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== 'form' });
      onMade({ id: identifierOf(type, values), name: nameOf(type, values) });
    } catch (refused) {
      const problem = worded(say, model, type, refused);
      setError(problem);
      if (problem instanceof DraftFault) form.setError(problem.path, { message: draftFaultText(say, problem.cause) });
      for (const [input, fault] of messagesAt(problemOf(problem).errors, now)) form.setError(input, fault);
    } finally {
      setSaving(false);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // Not the form behind the dialog.
    event.stopPropagation();
    if (!isSaving) void save();
  };
  return (
    <Window
      title={say('form.new', { type: inSentence(type.title.one) })}
      width="md"
      onClose={onClose}
      onSubmit={submit}
      onFocus={(content) => content.querySelector('input')?.focus()}
      actions={
        <Button type="submit" variant="contained" loading={isSaving}>
          {say('form.save')}
        </Button>
      }
    >
      <Box
        onKeyDown={(event) => {
          if ((event.ctrlKey || event.metaKey) && event.key === 's') submit(event);
        }}
      >
        {error !== undefined && (
          <FormProblem error={error} draft={draft} onRetry={() => void save()} onAnew={undefined} />
        )}
        <FormProvider {...form}>
          <RecordInputs type={type} path="" draft={draft} inputFor={inputFor} />
        </FormProvider>
      </Box>
    </Window>
  );
}
