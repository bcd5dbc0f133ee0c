/** Saves what a list has found, with all of its pages. */
import {
  Alert,
  Button,
  Checkbox,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  FormControlLabel,
  FormHelperText,
  MenuItem,
  Stack,
  TextField,
} from '@mui/material';
import { useNotify } from 'ra-core';
import { useEffect, useRef, useState } from 'react';
import { useCurl } from '../app/curl.ts';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { useModel } from '../data/model.ts';
import { numberText, useText } from '../texts/texts.ts';
import { exportRecords, exportTargets, type Format, FORMATS, type Found, save } from './export.ts';
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
  const copyCurl = useCurl();
  const model = useModel();
  const notify = useNotify();
  const [format, setFormat] = useState<Format>('csv');
  const [isAll, setAll] = useState(false);
  const [isGuarded, setGuarded] = useState(true);
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const targets = exportTargets(model, found, isAll ? undefined : columns);

  const start = async (): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setError(undefined);
    setProgress({ done: 0, total: undefined });
    try {
      const { signal } = controller;
      const count = found.ids?.length;
      const blob = await exportRecords({ targets, count, format, isGuarded, onProgress: setProgress, signal });
      const name = `${found.type.path}.${FORMATS[format].extension}`;
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
            <MenuItem value="csv">{say('export.csv')}</MenuItem>
            <MenuItem value="ndjson">{say('export.ndjson')}</MenuItem>
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
          {format === 'csv' && (
            <div>
              <FormControlLabel
                control={
                  <Checkbox
                    checked={isGuarded}
                    onChange={({ target: { checked } }) => setGuarded(checked)}
                    slotProps={{ input: { 'aria-describedby': 'export-guarded' } }}
                  />
                }
                label={say('export.guarded')}
              />
              <FormHelperText id="export-guarded">{say('export.guarded_help')}</FormHelperText>
            </div>
          )}
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
        {targets.slice(0, 1).map((target) => (
          <Button
            key="curl"
            color="inherit"
            onClick={() => copyCurl({ method: 'GET', target, headers: { Accept: FORMATS[format].mediaType } })}
          >
            {say('curl.show')}
          </Button>
        ))}
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
