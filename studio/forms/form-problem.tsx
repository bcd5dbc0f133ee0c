/** What is said above a form: the problem as a whole, and faults that no input shows. */
import Alert from '@mui/material/Alert';
import { InTheWay } from '../app/in-the-way.tsx';
import { problemText } from '../app/problem-alert.tsx';
import { problemOf } from '../data/problem.ts';
import { useText } from '../texts/texts.ts';
import { DraftFault } from './body.ts';
import type { RecordDraft } from './draft.ts';
import { inputOf } from './faults.ts';

export function FormProblem({ error, draft }: { readonly error: unknown; readonly draft: RecordDraft }) {
  const say = useText();
  const { status, errors } = problemOf(error);
  const elsewhere = errors.filter(({ pointer }) => inputOf(pointer, draft) === undefined);
  const count = errors.length - elsewhere.length;
  const isAtInputs = error instanceof DraftFault || (status === 422 && count > 0);
  return (
    <Alert severity="error" sx={{ mb: 2 }}>
      {isAtInputs ? say('form.faults', { smart_count: Math.max(count, 1) }) : problemText(say, error)}
      {isAtInputs && elsewhere.map(({ message }) => <div key={message}>{message}</div>)}
      <InTheWay error={error} />
    </Alert>
  );
}
