/** Saves what a list has found, with all of its pages. */
import { Alert, Button, Stack } from '@mui/material';
import { useNotify } from 'ra-core';
import { useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Select } from '../app/select.tsx';
import { Window } from '../app/window.tsx';
import { useModel } from '../data/model.ts';
import { numberText, inSentence, useText } from '../texts/texts.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { exportTable, exportTargets, type Format, FORMATS, type Found, save, tableColumns } from './export.ts';
import { ProgressBar } from './progress-bar.tsx';
import { useWork } from './use-work.ts';

interface ExportDialogProps {
  readonly found: Found;
  /** Of the list, as it is shown. */
  readonly columns: readonly string[];
  readonly onClose: () => void;
}

export default function ExportDialog({ found, columns, onClose }: ExportDialogProps) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const [format, setFormat] = useState<Format>('xlsx');
  const [isAll, setAll] = useState(false);
  const { run, progress, isWorking, error } = useWork();
  const shown = tableColumns(found.type, isAll ? undefined : columns);
  const targets = exportTargets(
    found,
    shown.map(({ name }) => name),
  );

  const start = async (): Promise<void> => {
    const name = `${found.type.path}.${format}`;
    const isDone = await run(async ({ signal, report }) => {
      const exporting = { targets, count: found.ids?.length, onProgress: report, signal };
      const table = { model, type: found.type, columns: shown, say, language: pageLanguage(), format };
      save(await exportTable(exporting, table), name);
      return true;
    });
    if (!isDone) return;
    notify(say('export.done', { name }), { type: 'success' });
    onClose();
  };

  return (
    <Window
      title={say('export.title', { types: inSentence(found.type.title.many) })}
      width="sm"
      onClose={onClose}
      actions={
        <Button variant="contained" disabled={isWorking} onClick={() => void start()}>
          {say('form.save')}
        </Button>
      }
    >
      <Stack spacing={2}>
        <Select
          label={say('export.format')}
          value={format}
          onChoose={(value) => setFormat(value as Format)}
          options={FORMATS.map((one) => [one, say(`export.${one}`)])}
        />
        <Select
          label={say('list.columns')}
          value={isAll ? 'all' : 'shown'}
          onChoose={(value) => setAll(value === 'all')}
          options={[
            ['shown', say('export.shown')],
            ['all', say('export.all')],
          ]}
        />
        {found.ids !== undefined ? (
          <Alert severity="info">
            {say('export.selected', { smart_count: found.ids.length, formatted: numberText(found.ids.length) })}
          </Alert>
        ) : (
          found.where.length > 0 && <Alert severity="info">{say('export.filtered')}</Alert>
        )}
        {error !== undefined && <ProblemAlert error={error} />}
        {progress && <ProgressBar label={say('export.working')} progress={progress} />}
      </Stack>
    </Window>
  );
}
