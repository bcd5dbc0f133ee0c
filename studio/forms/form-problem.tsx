/** What is said above a form: the problem as a whole, and faults that no input shows. */
import Alert from '@mui/material/Alert';
import Link from '@mui/material/Link';
import { Link as RouterLink } from 'react-router-dom';
import { problemText } from '../app/problem-alert.tsx';
import { can, type StudioModel, useModel } from '../data/model.ts';
import { type Fault, problemOf } from '../data/problem.ts';
import { recordPath } from '../lists/record-table.tsx';
import { useText } from '../texts/texts.ts';
import { DraftFault } from './body.ts';
import type { RecordDraft } from './draft.ts';
import { inputOf, recordInTheWay } from './faults.ts';

export function FormProblem({ error, draft }: { readonly error: unknown; readonly draft: RecordDraft }) {
  const say = useText();
  const model = useModel();
  const { status, errors } = problemOf(error);
  const elsewhere = errors.filter(({ pointer }) => inputOf(pointer, draft) === undefined);
  const count = errors.length - elsewhere.length;
  const isAtInputs = error instanceof DraftFault || (status === 422 && count > 0);
  const inTheWay = errors.flatMap((fault) => wayTo(model, fault) ?? []);
  return (
    <Alert severity="error" sx={{ mb: 2 }}>
      {isAtInputs ? say('form.faults', { smart_count: Math.max(count, 1) }) : problemText(say, error)}
      {isAtInputs && elsewhere.map(({ message }) => <div key={message}>{message}</div>)}
      {inTheWay.map(({ path, name }) => (
        <div key={path}>
          <Link component={RouterLink} to={path} target="_blank" color="inherit">
            {say('form.in_the_way', { name })}
          </Link>
        </div>
      ))}
    </Alert>
  );
}

function wayTo(model: StudioModel, fault: Fault): { readonly path: string; readonly name: string } | undefined {
  const found = recordInTheWay(fault);
  const type = found && model.types.get(found.type);
  if (found === undefined || type === undefined || !can(type, 'get')) return undefined;
  return { path: recordPath(type, found.id), name: `${type.title.one} ${found.id}` };
}
