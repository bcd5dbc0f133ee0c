/** Deletes a record, once a person has seen what goes with it; what prevents it is said. */
import { Alert, Button, DialogContentText } from '@mui/material';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { DeleteIcon } from '../app/icons.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Window } from '../app/window.tsx';
import { nameOf, type TypeInfo, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { recordQuery, type StudioRecord } from '../data/provider.ts';
import { createAttempts } from '../data/attempts.ts';
import { send } from '../data/request.ts';
import { useRestore } from '../many/restore.ts';
import { Effects, effectsIn, Uses } from '../many/effects.tsx';
import { useText } from '../texts/texts.ts';

interface DeleteButtonProps {
  readonly type: TypeInfo;
  readonly record: StudioRecord;
  readonly variant: string | undefined;
}

export function DeleteButton({ type, record, variant }: DeleteButtonProps) {
  const say = useText();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button color="error" startIcon={<DeleteIcon />} onClick={() => setOpen(true)}>
        {say('record.delete')}
      </Button>
      {isOpen && <DeleteDialog type={type} record={record} variant={variant} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Tries the deletion first: what would go with the record is shown, or what prevents it. */
function DeleteDialog({ type, record, variant, onClose }: DeleteButtonProps & { readonly onClose: () => void }) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const restore = useRestore(type);
  const attempts = useRef(createAttempts()).current;
  const [failure, setFailure] = useState<unknown>();
  const name = nameOf(type, record.values);
  // The tag is that of this address.
  const target = `${type.path}/${encodeURIComponent(record.id)}?${recordQuery(model, type, variant)}`;
  const tag: Readonly<Record<string, string>> = record.etag === undefined ? {} : { 'If-Match': record.etag };
  const { data: effects, error: refusal } = useQuery({
    queryKey: [type.path, 'deletion', record.id, record.etag],
    queryFn: async ({ signal }) =>
      effectsIn((await send({ method: 'DELETE', target: `${target}&dryRun=true`, headers: tag }, signal)).body),
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const error = failure ?? refusal ?? undefined;
  const isOutdated = problemOf(error).status === 412;
  const isUsed = problemOf(error).status === 409;
  const [hasChanged, setChanged] = useState(false);
  useEffect(() => {
    if (!isOutdated) return;
    setChanged(true);
    setFailure(undefined);
    void queries.invalidateQueries({ queryKey: [type.path, 'getOne'] });
  }, [isOutdated, queries, type.path]);

  const remove = async (): Promise<void> => {
    setFailure(undefined);
    try {
      await send(attempts.keyed({ method: 'DELETE', target, headers: { ...tag, Prefer: 'return=minimal' } }));
      attempts.done();
      queries.removeQueries({ queryKey: [type.path, 'getOne'] });
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== 'deletion' });
      notify(say('record.deleted', { name }), {
        type: 'success',
        ...(restore && { undo: () => void restore([record.id], name) }),
      });
      await navigate(`/${type.path}`);
    } catch (problem) {
      setFailure(problem);
    }
  };

  const others = (effects ?? []).filter((effect) => effect.type !== type.type || !effect.isDeleted || effect.count > 1);
  return (
    <Window
      title={say('record.delete_title', { name })}
      onClose={onClose}
      isCareful
      actions={
        <Button color="error" disabled={effects === undefined} onClick={() => void remove()}>
          {say('record.delete')}
        </Button>
      }
    >
      {hasChanged && <Alert severity="warning">{say('problem.changed')}</Alert>}
      {error === undefined || isOutdated ? (
        <DialogContentText>
          {say(effects === undefined ? 'many.looking' : type.history ? 'record.delete_kept' : 'record.delete_text')}
        </DialogContentText>
      ) : (
        <ProblemAlert error={error} onRetry={() => void remove()} isLinked={!isUsed} />
      )}
      {isUsed && <Uses type={type} id={record.id} error={error} />}
      <Effects effects={others} />
    </Window>
  );
}
