/** Deletes many records, once it is known what goes with them. */
import { Alert, Button, DialogContentText } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { useCallback, useEffect, useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Window } from '../app/window.tsx';
import { useModel } from '../data/model.ts';
import { numberText, useText } from '../texts/texts.ts';
import { type Chosen, idsOf } from './chosen.ts';
import { type Deletion, lookAhead, removePart } from './deletion.ts';
import { Effects } from './effects.tsx';
import { LeftOutTable } from './left-out-table.tsx';
import { ProgressBar } from './progress-bar.tsx';
import { useRestore } from './restore.ts';
import { useWork } from './use-work.ts';

interface DeleteDialogProps {
  readonly chosen: Chosen;
  readonly onClose: (isDone: boolean) => void;
}

export default function DeleteDialog({ chosen, onClose }: DeleteDialogProps) {
  const { type } = chosen;
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const queries = useQueryClient();
  const restore = useRestore(type);
  const work = useWork();
  const { run, progress, isWorking, error } = work;
  const [plan, setPlan] = useState<Deletion>();
  /** How many are gone; undefined until it began. */
  const [deleted, setDeleted] = useState<number>();

  const look = useCallback(
    () =>
      run(async (tools) => {
        const ids = await idsOf(chosen, tools.report, tools.signal);
        const found = await lookAhead(model, chosen, ids, tools);
        setPlan(found);
        return found !== undefined;
      }),
    // The dialog is about what was chosen when it was opened.
    // oxlint-disable-next-line react/exhaustive-deps
    [],
  );
  useEffect(() => void look(), [look]);

  const all = plan?.parts.reduce((sum, { ids }) => sum + ids.length, 0) ?? 0;
  const remove = async ({ parts }: Deletion): Promise<void> => {
    let [gone, left] = [0, parts];
    setDeleted(0);
    const isDone = await run(async ({ signal, report, isStopped }) => {
      for (const part of parts) {
        if (isStopped()) return false;
        gone += await removePart(chosen, part, signal);
        left = left.slice(1);
        setDeleted(gone);
        report({ done: all - left.reduce((sum, { ids }) => sum + ids.length, 0), total: all });
      }
      return true;
    });
    queries.removeQueries({ queryKey: [type.path, 'getOne'] });
    await queries.invalidateQueries();
    if (!isDone) return;
    const ids = parts.flatMap((part) => part.ids);
    const text = say('many.deleted', { smart_count: gone, formatted: numberText(gone) });
    notify(text, { type: 'success', ...(restore && { undo: () => void restore(ids) }) });
    onClose(true);
  };

  const isBegun = deleted !== undefined;
  const others = (plan?.effects ?? []).filter((effect) => effect.type !== type.type || !effect.isDeleted);
  const count = chosen.ids?.length ?? all;
  return (
    <Window
      title={
        plan === undefined && chosen.ids === undefined
          ? say('many.delete_all_title', { types: type.title.many })
          : say('many.delete_title', { smart_count: count, formatted: numberText(plan === undefined ? count : all) })
      }
      width="sm"
      onClose={() => onClose(isBegun)}
      closeText={say(isBegun ? 'app.close' : 'filter.cancel')}
      isCareful
      work={isWorking && isBegun ? work : undefined}
      actions={
        !isBegun && (
          <Button
            color="error"
            disabled={plan === undefined || all === 0 || isWorking}
            onClick={() => plan && void remove(plan)}
          >
            {say('record.delete')}
          </Button>
        )
      }
    >
      <DialogContentText>
        {say(
          plan !== undefined
            ? type.history
              ? 'record.delete_kept'
              : 'record.delete_text'
            : isWorking
              ? 'many.looking'
              : 'many.not_looked',
        )}
      </DialogContentText>
      {error !== undefined && <ProblemAlert error={error} />}
      {progress && <ProgressBar label={say(isBegun ? 'many.deleting' : 'many.looking')} progress={progress} />}
      {isBegun && !isWorking && (
        <Alert severity="warning" sx={{ mt: 1 }}>
          {say('many.deleted_part', { done: numberText(deleted), total: numberText(all) })}
        </Alert>
      )}
      {!isBegun && <Effects effects={others} />}
      <LeftOutTable type={type} leftOut={plan?.leftOut ?? []} />
    </Window>
  );
}
