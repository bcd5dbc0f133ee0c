/** The message above a form: the problem as a whole, and faults that no input shows. */
import { Alert, Box, Button } from '@mui/material';
import { InTheWay } from '../app/in-the-way.tsx';
import { ProblemAlert, problemText } from '../app/problem-alert.tsx';
import { problemOf } from '../data/problem.ts';
import { useText } from '../texts/texts.ts';
import { DraftFault } from './body.ts';
import type { RecordDraft } from './draft.ts';
import { inputOf } from './faults.ts';

interface FormProblemProps {
  readonly error: unknown;
  readonly draft: RecordDraft;
  readonly onRetry: () => void;
  /** Makes a new record of what was typed; undefined where that is not possible. */
  readonly onAnew: (() => void) | undefined;
}

export function FormProblem({ error, draft, onRetry, onAnew }: FormProblemProps) {
  const say = useText();
  const { status, code, errors } = problemOf(error);
  const elsewhere = errors.filter(({ pointer }) => inputOf(pointer, draft) === undefined);
  const count = errors.length - elsewhere.length;
  const isAtInputs = error instanceof DraftFault || (status === 422 && count > 0);
  if (status === 401)
    return (
      <Box sx={{ mb: 2 }}>
        <ProblemAlert error={error} onRetry={onRetry} />
      </Box>
    );
  return (
    <Alert
      severity="error"
      sx={{ mb: 2 }}
      action={
        code === 'record-not-found' && onAnew ? (
          <Button color="inherit" size="small" onClick={onAnew}>
            {say('form.anew')}
          </Button>
        ) : undefined
      }
    >
      {isAtInputs ? say('form.faults', { smart_count: Math.max(count, 1) }) : problemText(say, error)}
      {isAtInputs && elsewhere.map(({ message }) => <div key={message}>{message}</div>)}
      <InTheWay error={error} />
    </Alert>
  );
}
