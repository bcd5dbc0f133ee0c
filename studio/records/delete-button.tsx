/** Deletes a record, once that is confirmed; what prevents it is said. */
import Button from '@mui/material/Button';
import Dialog from '@mui/material/Dialog';
import DialogActions from '@mui/material/DialogActions';
import DialogContent from '@mui/material/DialogContent';
import DialogContentText from '@mui/material/DialogContentText';
import DialogTitle from '@mui/material/DialogTitle';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { useRef, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { DeleteIcon } from '../app/icons.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { nameOf, type TypeInfo, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { recordQuery, type StudioRecord } from '../data/provider.ts';
import { createAttempts } from '../data/attempts.ts';
import { send } from '../data/request.ts';
import { useText } from '../texts/texts.ts';

interface DeleteButtonProps {
  readonly type: TypeInfo;
  readonly record: StudioRecord;
  /** That the record is shown in. */
  readonly variant: string | undefined;
}

export function DeleteButton({ type, record, variant }: DeleteButtonProps) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<unknown>();
  const attempts = useRef(createAttempts()).current;
  const name = nameOf(type, record.values);
  const remove = async (): Promise<void> => {
    setError(undefined);
    try {
      const request = attempts.keyed({
        method: 'DELETE',
        // The tag is that of this address.
        target: `${type.path}/${encodeURIComponent(record.id)}?${recordQuery(model, type, variant)}`,
        headers: { Prefer: 'return=minimal', ...(record.etag === undefined ? {} : { 'If-Match': record.etag }) },
      });
      await send(request);
      attempts.done();
      queries.removeQueries({ queryKey: [type.path, 'getOne'] });
      await queries.invalidateQueries();
      notify(say('record.deleted', { name }), { type: 'success' });
      await navigate(`/${type.path}`);
    } catch (problem) {
      setError(problem);
      // What is shown behind the question is what would be deleted.
      if (problemOf(problem).status === 412) await queries.invalidateQueries({ queryKey: [type.path, 'getOne'] });
    }
  };
  return (
    <>
      <Button color="error" startIcon={<DeleteIcon />} onClick={() => setOpen(true)}>
        {say('record.delete')}
      </Button>
      <Dialog open={isOpen} onClose={() => setOpen(false)} aria-labelledby="delete-title">
        <DialogTitle id="delete-title">{say('record.delete_title', { name })}</DialogTitle>
        <DialogContent>
          {error === undefined ? (
            <DialogContentText>{say('record.delete_text')}</DialogContentText>
          ) : (
            <ProblemAlert error={error} onRetry={() => void remove()} />
          )}
        </DialogContent>
        <DialogActions>
          <Button color="inherit" onClick={() => setOpen(false)} autoFocus>
            {say('filter.cancel')}
          </Button>
          <Button color="error" onClick={() => void remove()}>
            {say('record.delete')}
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
