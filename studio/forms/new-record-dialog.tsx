/** A record that is made while another one is typed: it is stored at once, and then linked. */
import { Box, Button } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useMemo } from 'react';
import { FormProvider, useForm } from 'react-hook-form';
import { Window } from '../app/window.tsx';
import { isValueObject } from '../data/json.ts';
import { identifierOf, inForm, nameOf, type TypeInfo, useModel } from '../data/model.ts';
import type { Choice } from '../fields/search.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { bodyOf } from './body.ts';
import { keyOf, newDraft, type RecordDraft } from './draft.ts';
import { FormProblem } from './form-problem.tsx';
import { RecordInputs } from './record-inputs.tsx';
import { inputFor } from './relation-input.tsx';
import { useSave } from './use-save.ts';

interface NewRecordDialogProps {
  readonly type: TypeInfo;
  /** What was looked for, and not found. */
  readonly typed: string;
  readonly onClose: () => void;
  readonly onMade: (choice: Choice) => void;
}

export default function NewRecordDialog({ type: all, typed, onClose, onMade }: NewRecordDialogProps) {
  const type = useMemo(() => inForm(all, 'create'), [all]);
  const say = useText();
  const model = useModel();
  const queries = useQueryClient();
  const draft = useMemo((): RecordDraft => {
    const empty = newDraft(type);
    const key = keyOf(type.label ?? '');
    return key in empty ? { ...empty, [key]: typed } : empty;
  }, [type, typed]);
  const form = useForm<Record<string, unknown>>({ defaultValues: { ...draft } });
  const { error, isSaving, save: send } = useSave(type, form);
  const save = async (): Promise<void> => {
    const answer = await send(() => ({
      method: 'POST',
      target: type.path,
      body: bodyOf({ model, type, path: '' }, form.getValues() as RecordDraft, {}),
    }));
    if (answer === undefined) return;
    const values = isValueObject(answer.body) ? answer.body : {};
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== 'form' });
    onMade({ id: identifierOf(type, values), name: nameOf(type, values) });
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // Not the form behind the dialog.
    event.stopPropagation();
    if (!isSaving) void save();
  };
  return (
    <Window
      title={say('list.create', { type: inSentence(type.title.one) })}
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
