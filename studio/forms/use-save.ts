/** Sends what is typed; what is refused is said at its inputs. */
import { useRef, useState } from 'react';
import type { UseFormReturn } from 'react-hook-form';
import { worded } from '../app/fault-text.ts';
import { createAttempts } from '../data/attempts.ts';
import { type TypeInfo, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { type Answer, send, type Sent } from '../data/request.ts';
import { useText } from '../texts/texts.ts';
import { DraftFault, draftFaultText } from './body.ts';
import type { RecordDraft } from './draft.ts';
import { messagesAt } from './faults.ts';

export function useSave(type: TypeInfo, form: UseFormReturn<Record<string, unknown>>) {
  const say = useText();
  const model = useModel();
  const [error, setError] = useState<unknown>();
  const [isSaving, setSaving] = useState(false);
  // Idempotency keys make sure that each write is done once, even if the connection is lost.
  const attempts = useRef(createAttempts()).current;

  /** `requestOf` throws a DraftFault where a text has no value. Undefined: it was refused. */
  const save = async (requestOf: () => Sent): Promise<Answer | undefined> => {
    setError(undefined);
    form.clearErrors();
    const now = structuredClone(form.getValues() as RecordDraft);
    try {
      const request = attempts.keyed(requestOf());
      setSaving(true);
      const answer = await send(request);
      attempts.done();
      return answer;
    } catch (refused) {
      const problem = worded(say, model, type, refused);
      setError(problem);
      if (problem instanceof DraftFault) form.setError(problem.path, { message: draftFaultText(say, problem.cause) });
      for (const [input, fault] of messagesAt(problemOf(problem).errors, now)) form.setError(input, fault);
      return undefined;
    } finally {
      setSaving(false);
    }
  };
  return { error, setError, isSaving, save };
}
