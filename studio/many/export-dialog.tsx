/** Saves what a list has found, with all of its pages. */
import {
  Alert,
  Button,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  MenuItem,
  Stack,
  TextField,
} from '@mui/material';
import { useNotify } from 'ra-core';
import { useEffect, useRef, useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { useModel } from '../data/model.ts';
import { numberText, useText } from '../texts/texts.ts';
import { pageLanguage } from '../presentations/plain.ts';
import {
  exportNdjson,
  exportTable,
  exportTargets,
  type Format,
  FORMATS,
  type Found,
  save,
  tableColumns,
} from './export.ts';
import type { Progress } from './chosen.ts';
import { ProgressBar } from './progress-bar.tsx';

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
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const wanted = isAll ? undefined : columns;
  // What fits into no cell is left out of tables.
  const shown = tableColumns(found.type, wanted);
  const targets = exportTargets(found, format === 'ndjson' ? wanted : shown.map(({ name }) => name));

  const start = async (): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setError(undefined);
    setProgress({ done: 0, total: undefined });
    try {
      const { signal } = controller;
      const count = found.ids?.length;
      const exporting = { targets, count, onProgress: setProgress, signal };
      const table = { model, type: found.type, columns: shown, say, language: pageLanguage() };
      const blob = await (format === 'ndjson' ? exportNdjson(exporting) : exportTable(exporting, { ...table, format }));
      const name = `${found.type.path}.${format}`;
      save(blob, name);
      notify(say('export.done', { name }), { type: 'success' });
      onClose();
    } catch (problem) {
      if (!controller.signal.aborted) setError(problem);
      setProgress(undefined);
    }
  };

  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm" aria-labelledby="export-title">
      <DialogTitle id="export-title">{say('export.title', { types: found.type.title.many })}</DialogTitle>
      <DialogContent>
        <Stack spacing={2} sx={{ pt: 1 }}>
          <TextField
            select
            label={say('export.format')}
            value={format}
            onChange={({ target: { value } }) => setFormat(value as Format)}
          >
            {FORMATS.map((one) => (
              <MenuItem key={one} value={one}>
                {say(`export.${one}`)}
              </MenuItem>
            ))}
          </TextField>
          <TextField
            select
            label={say('export.columns')}
            value={isAll ? 'all' : 'shown'}
            onChange={({ target: { value } }) => setAll(value === 'all')}
          >
            <MenuItem value="shown">{say('export.shown')}</MenuItem>
            <MenuItem value="all">{say('export.all')}</MenuItem>
          </TextField>
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
      </DialogContent>
      <DialogActions>
        <Button color="inherit" onClick={onClose}>
          {say('filter.cancel')}
        </Button>
        <Button variant="contained" disabled={progress !== undefined} onClick={() => void start()}>
          {say('export.start')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
