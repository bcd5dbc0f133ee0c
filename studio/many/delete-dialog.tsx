/** Deletes the records that are selected, once it is known what goes with them. */
import Alert from '@mui/material/Alert';
import Button from '@mui/material/Button';
import Dialog from '@mui/material/Dialog';
import DialogActions from '@mui/material/DialogActions';
import DialogContent from '@mui/material/DialogContent';
import DialogContentText from '@mui/material/DialogContentText';
import DialogTitle from '@mui/material/DialogTitle';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { useEffect, useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { isValueList, isValueObject, textOf, type Value } from '../data/json.ts';
import { type StudioModel, type TypeInfo, useModel } from '../data/model.ts';
import { send, type Sent } from '../data/request.ts';
import { type Say, useText } from '../texts/texts.ts';

interface DeleteDialogProps {
  readonly type: TypeInfo;
  readonly ids: readonly string[];
  readonly onClose: (isDone: boolean) => void;
}

/** What happens to how many records of a type; undefined where the token may not know it. */
interface Effect {
  readonly type: string | undefined;
  readonly isDeleted: boolean;
  readonly count: number;
}

export default function DeleteDialog({ type, ids, onClose }: DeleteDialogProps) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const queries = useQueryClient();
  const [effects, setEffects] = useState<readonly Effect[]>();
  const [error, setError] = useState<unknown>();

  useEffect(() => {
    const controller = new AbortController();
    send(deletion(type, ids, model.limits.writeRows, true), controller.signal).then(
      ({ body }) => setEffects(effectsIn(body)),
      (problem: unknown) => controller.signal.aborted || setError(problem),
    );
    return () => controller.abort();
  }, [type, ids, model]);

  const remove = async (known: readonly Effect[]): Promise<void> => {
    try {
      const affected = known.reduce((sum, { count }) => sum + count, 0);
      await send(deletion(type, ids, affected, false));
      queries.removeQueries({ queryKey: [type.path, 'getOne'] });
      await queries.invalidateQueries();
      notify(say('many.deleted', { smart_count: ids.length }), { type: 'success' });
      onClose(true);
    } catch (problem) {
      setError(problem);
    }
  };

  const others = (effects ?? []).filter((effect) => effect.type !== type.type || !effect.isDeleted);
  return (
    <Dialog open onClose={() => onClose(false)} aria-labelledby="delete-many-title">
      <DialogTitle id="delete-many-title">{say('many.delete_title', { smart_count: ids.length })}</DialogTitle>
      <DialogContent>
        {error === undefined ? (
          <DialogContentText>{say(effects === undefined ? 'list.working' : 'record.delete_text')}</DialogContentText>
        ) : (
          <ProblemAlert error={error} />
        )}
        {others.map((effect, index) => (
          // Two effects may be told in the same words.
          // oxlint-disable-next-line react/no-array-index-key
          <Alert severity="warning" key={index} sx={{ mt: 1 }}>
            {effectText(say, model, effect)}
          </Alert>
        ))}
      </DialogContent>
      <DialogActions>
        <Button color="inherit" onClick={() => onClose(false)} autoFocus>
          {say('filter.cancel')}
        </Button>
        <Button color="error" disabled={effects === undefined} onClick={() => effects && void remove(effects)}>
          {say('record.delete')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** `most`: as many records as may be deleted or unlinked. */
function deletion({ path, identifier }: TypeInfo, ids: readonly string[], most: number, isDryRun: boolean): Sent {
  const found = ids.map((id) => `_cnd[${identifier.name}][in]=${encodeURIComponent(id)}`).join('&');
  const target = `${path}?${found}${isDryRun ? '&dryRun=true' : ''}`;
  return { method: 'DELETE', target, headers: { Prefer: `max-affected=${most}` } };
}

const effectsIn = (body: Value): readonly Effect[] => {
  const list = isValueObject(body) ? body['effects'] : null;
  return (isValueList(list) ? list : []).filter(isValueObject).map(({ type = null, effect = null, count = null }) => ({
    type: type === null ? undefined : textOf(type),
    isDeleted: effect === 'deleted',
    count: Number(textOf(count)),
  }));
};

function effectText(say: Say, { types }: StudioModel, { type, isDeleted, count }: Effect): string {
  const title = types.get(type ?? '')?.title;
  const what = title === undefined ? say('many.hidden', { smart_count: count }) : count === 1 ? title.one : title.many;
  return say(isDeleted ? 'many.also_deleted' : 'many.also_changed', { what, count });
}
