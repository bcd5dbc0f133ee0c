/** Creates or changes the records of a file, once all of them have been tried. */
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
  Typography,
} from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { useEffect, useRef, useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { type TypeInfo, useModel } from '../data/model.ts';
import { numberText, useText } from '../texts/texts.ts';
import { patiently, type Progress } from './chosen.ts';
import { FaultTable } from './fault-table.tsx';
import { faultsIn, type ImportFile, type LineFault, matchingOf, readFile, sendBatch } from './import.ts';
import { ProgressBar } from './progress-bar.tsx';

/** No field has such a name. */
const CREATE = '$create';

interface ImportDialogProps {
  readonly type: TypeInfo;
  readonly onClose: () => void;
}

/** The preview of the file, or of its remaining part. */
interface Preview {
  /** Parts that were written before. */
  readonly written: number;
  readonly created: number;
  readonly changed: number;
  readonly faults: readonly LineFault[];
}

export default function ImportDialog({ type, onClose }: ImportDialogProps) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const queries = useQueryClient();
  const matching = matchingOf(type);
  const [file, setFile] = useState<ImportFile>();
  const [choice, setChoice] = useState(CREATE);
  const [preview, setPreview] = useState<Preview>();
  /** Parts that were written: they are not sent again. */
  const [written, setWritten] = useState(0);
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>(undefined);
  const stopped = useRef(false);
  const [isWriting, setWriting] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => () => running.current?.abort(), []);
  const on = matching.find((names) => names.join() === choice);
  const isWorking = progress !== undefined;

  const forget = (): void => {
    setPreview(undefined);
    setError(undefined);
  };

  const choose = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return;
    forget();
    setFile(undefined);
    setWritten(0);
    try {
      setFile(readFile(chosen.name, await chosen.arrayBuffer(), model));
    } catch {
      setError(new Error(say('import.not_utf8')));
    }
  };

  /** Sends the parts one after the other; `onFaults` says whether to go on with the next one. */
  const work = async (
    { batches, format, count }: ImportFile,
    isDryRun: boolean,
    onPart: (created: number, changed: number) => void,
    onFaults: (faults: readonly LineFault[]) => boolean,
  ): Promise<boolean> => {
    const controller = new AbortController();
    running.current = controller;
    stopped.current = false;
    setWriting(!isDryRun);
    setError(undefined);
    let done = batches.slice(0, written).reduce((sum, { records }) => sum + records.length, 0);
    setProgress({ done, total: count });
    try {
      const { signal } = controller;
      for (const batch of batches.slice(written)) {
        if (stopped.current) return false;
        try {
          const result = await patiently(() => sendBatch(batch, { type, format, on, isDryRun, signal }), signal);
          onPart(result.created, result.changed);
        } catch (problem) {
          const faults = faultsIn(problem, batch);
          if (faults === undefined) throw problem;
          if (!onFaults(faults)) return false;
        }
        done += batch.records.length;
        setProgress({ done, total: count });
      }
      return true;
    } catch (problem) {
      if (!controller.signal.aborted) setError(problem);
      return false;
    } finally {
      setProgress(undefined);
      setWriting(false);
    }
  };

  const tryOut = async (read: ImportFile): Promise<void> => {
    const seen = { created: 0, changed: 0, faults: [] as LineFault[] };
    const isDone = await work(
      read,
      true,
      (created, changed) => {
        seen.created += created;
        seen.changed += changed;
      },
      (faults) => seen.faults.push(...faults) > 0,
    );
    if (isDone) setPreview({ written, ...seen });
  };

  const write = async (read: ImportFile): Promise<void> => {
    let parts = written;
    const isDone = await work(
      read,
      false,
      () => setWritten((parts += 1)),
      (faults) => {
        setPreview({ written: parts, created: 0, changed: 0, faults });
        return false;
      },
    );
    await queries.invalidateQueries();
    if (!isDone) return;
    notify(say('import.done', { smart_count: read.count, formatted: numberText(read.count) }), { type: 'success' });
    onClose();
  };

  const isReady = preview !== undefined && preview.faults.length === 0;
  const begun = file?.batches[written]?.records[0]?.line ?? 0;
  const left = file?.batches.slice(written).reduce((sum, { records }) => sum + records.length, 0) ?? 0;
  return (
    <Dialog open onClose={() => isWorking || onClose()} fullWidth maxWidth="md" aria-labelledby="import-title">
      <DialogTitle id="import-title">{say('import.title', { types: type.title.many })}</DialogTitle>
      <DialogContent>
        <Stack spacing={2} sx={{ pt: 1 }}>
          <Typography variant="body2">{say('import.help')}</Typography>
          <Stack direction="row" spacing={2} sx={{ alignItems: 'center' }}>
            <Button variant="outlined" disabled={isWorking} onClick={() => input.current?.click()}>
              {say('import.choose')}
            </Button>
            <input
              ref={input}
              type="file"
              accept=".csv,.ndjson,.jsonl,text/csv"
              hidden
              onChange={({ target: { files } }) => void choose(files?.[0])}
            />
            {file && (
              <Typography variant="body2" role="status">
                <bdi>{file.name}</bdi>:{' '}
                {say('import.count', { smart_count: file.count, formatted: numberText(file.count) })}
              </Typography>
            )}
          </Stack>
          {matching.length > 0 && (
            <TextField
              select
              label={say('import.matching')}
              value={choice}
              disabled={isWorking || written > 0}
              onChange={({ target: { value } }) => {
                setChoice(value);
                forget();
              }}
            >
              <MenuItem value={CREATE}>{say('import.create')}</MenuItem>
              {matching.map((names) => (
                <MenuItem key={names.join()} value={names.join()}>
                  {say('import.change', { names: names.map((name) => titleIn(type, name)).join(', ') })}
                </MenuItem>
              ))}
            </TextField>
          )}
          {file && file.batches.length > 1 && (
            <Alert severity="info">{say('import.parts', { smart_count: file.batches.length })}</Alert>
          )}
          {written > 0 && file && <Alert severity="warning">{say('import.begun', { line: begun })}</Alert>}
          {error !== undefined && <ProblemAlert error={error} />}
          {progress && <ProgressBar label={say('import.working')} progress={progress} />}
          {isReady && preview.written === written && (
            <Alert severity="success">
              {say('import.ready', {
                created: numberText(preview.created),
                changed: numberText(preview.changed),
              })}
            </Alert>
          )}
          {preview && preview.faults.length > 0 && (
            <>
              <Alert severity="error">{say('import.faults', { smart_count: preview.faults.length })}</Alert>
              <FaultTable type={type} faults={preview.faults} />
            </>
          )}
        </Stack>
      </DialogContent>
      <DialogActions>
        {isWriting ? (
          <Button color="inherit" onClick={() => (stopped.current = true)}>
            {say('many.stop')}
          </Button>
        ) : (
          <Button color="inherit" onClick={onClose}>
            {say(written > 0 ? 'many.close' : 'filter.cancel')}
          </Button>
        )}
        {file && !isReady && (
          <Button variant="contained" disabled={isWorking || file.count === 0} onClick={() => void tryOut(file)}>
            {say('import.try')}
          </Button>
        )}
        {file && isReady && (
          <Button variant="contained" disabled={isWorking} onClick={() => void write(file)}>
            {say('import.start', { smart_count: left, formatted: numberText(left) })}
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}

const titleIn = ({ fields, relations }: TypeInfo, name: string): string =>
  [...fields, ...relations].find((one) => one.name === name)?.title ?? name;
