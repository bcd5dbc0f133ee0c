/** The records of a type that were deleted: who deleted them when, and bringing them back. */
import { Button, Stack, Typography } from '@mui/material';
import { Fragment, useState } from 'react';
import { worded } from '../app/fault-text.ts';
import { Grid } from '../app/grid.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import { Window } from '../app/window.tsx';
import { textOf } from '../data/json.ts';
import { useLog } from '../data/log.ts';
import { nameOf, type TypeInfo, useModel } from '../data/model.ts';
import { useRestore } from '../many/restore.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { timeText } from '../presentations/times.ts';
import { inSentence, useText } from '../texts/texts.ts';

interface DeletedDialogProps {
  readonly type: TypeInfo;
  readonly onClose: () => void;
}

export default function DeletedDialog({ type, onClose }: DeletedDialogProps) {
  const say = useText();
  const model = useModel();
  const { entries, error, isFetching, more, retry } = useLog(type, '$deleted');
  const restore = useRestore(type);
  const [refusal, setRefusal] = useState<unknown>();
  const bring = (id: string, name: string): void => {
    setRefusal(undefined);
    void restore?.([id], name, (problem) => setRefusal(worded(say, model, type, problem)));
  };
  return (
    <Window
      title={say('deleted.title', { types: inSentence(type.title.many) })}
      width="md"
      onClose={onClose}
      closeText={say('app.close')}
      isCareful
    >
      <Stack spacing={2}>
        {error && <ProblemAlert error={error} onRetry={retry} />}
        {refusal !== undefined && <ProblemAlert error={refusal} />}
        {entries === undefined && !error && <Waiting />}
        {entries?.length === 0 && <Typography>{say('deleted.none')}</Typography>}
        {entries !== undefined && entries.length > 0 && (
          <Grid
            label={say('deleted.title', { types: inSentence(type.title.many) })}
            rows={entries.map(({ at, by, identifier, record }) => {
              const id = textOf(identifier);
              const name = nameOf(type, record) || `${type.title.one} ${id}`;
              return {
                key: id,
                cells: [
                  <Fragment key="what">
                    <bdi>{name}</bdi>
                    <Typography variant="body2" sx={{ color: 'text.secondary' }}>
                      {timeText(textOf(at), pageLanguage(), true)} · <bdi>{textOf(by) || say('history.unknown')}</bdi>
                    </Typography>
                  </Fragment>,
                  restore !== undefined && (
                    <Button key="restore" size="small" onClick={() => bring(id, name)}>
                      {say('deleted.restore')}
                    </Button>
                  ),
                ],
              };
            })}
          />
        )}
        {more !== undefined && (
          <Button onClick={more} loading={isFetching} sx={{ alignSelf: 'start' }}>
            {say('history.more')}
          </Button>
        )}
      </Stack>
    </Window>
  );
}
