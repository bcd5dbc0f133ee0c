/** Creates or changes the records of a file, once all of them have been tried. */
import { Alert, Box, Button, Stack, Typography } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { useRef, useState } from 'react';
import { worded } from '../app/fault-text.ts';
import { Grid } from '../app/grid.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Select } from '../app/select.tsx';
import { Window } from '../app/window.tsx';
import { can, type TypeInfo, useModel } from '../data/model.ts';
import { type Member, MemberValue } from '../fields/member-value.tsx';
import { decimalMark } from '../presentations/numbers.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { SHRUNK } from '../presentations/presentation.ts';
import { numberText, inSentence, useText } from '../texts/texts.ts';
import { csvText } from './cells.ts';
import { patiently } from './chosen.ts';
import { save } from './export.ts';
import { FaultTable } from './fault-table.tsx';
import {
  type Batch,
  type BatchResult,
  batchesOf,
  type CellChange,
  changesOf,
  faultsIn,
  type LineFault,
  matchingOf,
  memberFor,
  membersOf,
  readRecords,
  type ReadRecords,
  sendBatch,
} from './import.ts';
import { ProgressBar } from './progress-bar.tsx';
import { readTable, type Table, writeCsv } from './table.ts';
import { useWork, type WorkTools } from './use-work.ts';

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
  /** What becomes of the records that are there. */
  readonly changes: readonly CellChange[];
}

interface Source {
  readonly name: string;
  readonly table: Table;
}

const recordsIn = (batches: readonly Batch[]): number => batches.reduce((sum, { records }) => sum + records.length, 0);

export default function ImportDialog({ type, onClose }: ImportDialogProps) {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const queries = useQueryClient();
  const matching = matchingOf(type);
  const [source, setSource] = useState<Source>();
  const [members, setMembers] = useState<readonly (Member | undefined)[]>([]);
  const [decimal, setDecimal] = useState<string>();
  const [batches, setBatches] = useState<readonly Batch[]>([]);
  const [choice, setChoice] = useState(CREATE);
  const [preview, setPreview] = useState<Preview>();
  /** Parts that were written: they are not sent again. */
  const [written, setWritten] = useState(0);
  const [isUnreadable, setUnreadable] = useState(false);
  const work = useWork();
  const { run, progress, isWorking, error: failure } = work;
  const [isWriting, setWriting] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const on = matching.find((names) => names.join() === choice);
  const error = isUnreadable ? new Error(say('import.unreadable')) : failure;
  const count = source?.table.rows.length ?? 0;

  const forget = (): void => {
    setPreview(undefined);
    setUnreadable(false);
  };

  const choose = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return;
    forget();
    setSource(undefined);
    setWritten(0);
    setBatches([]);
    setDecimal(undefined);
    const { name } = chosen;
    try {
      const table = await readTable(name, await chosen.arrayBuffer());
      const found = table.head.map((head) => memberFor(type, head));
      setMembers(found);
      setSource({ name, table });
      // Whoever changes what was exported has the values that tell the records apart.
      const known = matching.find((names) => names.every((one) => found.some((member) => member?.name === one)));
      setChoice(known?.join() ?? CREATE);
    } catch {
      setUnreadable(true);
    }
  };

  /** Sends the parts one after the other; `onFaults` says whether to go on with the next one. */
  const sendParts = async (
    parts: readonly Batch[],
    isDryRun: boolean,
    { signal, report, isStopped }: WorkTools,
    onPart: (result: BatchResult) => void,
    onFaults: (faults: readonly LineFault[]) => boolean,
  ): Promise<boolean> => {
    let done = recordsIn(parts.slice(0, written));
    report({ done, total: count });
    for (const batch of parts.slice(written)) {
      if (isStopped()) return false;
      try {
        onPart(await patiently(() => sendBatch(batch, { type, on, isDryRun, signal }), signal));
      } catch (problem) {
        const faults = faultsIn(worded(say, model, type, problem), batch);
        if (faults === undefined) throw problem;
        if (!onFaults(faults)) return false;
      }
      done += batch.records.length;
      report({ done, total: count });
    }
    return true;
  };

  /** The records of a table; undefined where a cell has no value. */
  const read = async ({ table }: Source, signal: AbortSignal): Promise<ReadRecords | undefined> => {
    const reading = { model, type, say, language: pageLanguage(), decimal, signal, isChanging: on !== undefined };
    const found = await readRecords(table, members, reading);
    if (found.faults.length === 0) return found;
    setPreview({ written, created: 0, changed: 0, faults: found.faults, changes: [] });
    return undefined;
  };

  const tryOut = (from: Source): Promise<boolean> =>
    run(async (tools) => {
      const { signal } = tools;
      const seen = { created: 0, changed: 0, faults: [] as LineFault[] };
      const found = await read(from, signal);
      if (found === undefined) return false;
      // Parts that were written are not made again.
      const before = batches.slice(0, written);
      const parts = [...before, ...batchesOf(found.records.slice(recordsIn(before)), model)];
      setBatches(parts);
      const isDone = await sendParts(
        parts,
        true,
        tools,
        ({ created, changed }) => {
          seen.created += created;
          seen.changed += changed;
        },
        (faults) => seen.faults.push(...faults) > 0,
      );
      if (!isDone) return false;
      const [by, more] = on ?? [];
      const isCompared = by !== undefined && more === undefined && seen.faults.length === 0 && can(type, 'list');
      const changes = isCompared ? await changesOf({ model, type, signal }, by, found.values) : [];
      setPreview({ written, ...seen, changes });
      return true;
    });

  const write = async (): Promise<void> => {
    let parts = written;
    setWriting(true);
    const isDone = await run((tools) =>
      sendParts(
        batches,
        false,
        tools,
        () => setWritten((parts += 1)),
        (faults) => {
          setPreview({ written: parts, created: 0, changed: 0, faults, changes: [] });
          return false;
        },
      ),
    );
    setWriting(false);
    await queries.invalidateQueries();
    if (!isDone) return;
    notify(say('import.done', { smart_count: count, formatted: numberText(count) }), { type: 'success' });
    onClose();
  };

  /** The lines with faults, and what is wrong with each. */
  const saveFaults = async ({ table }: Source, faults: readonly LineFault[]): Promise<void> => {
    const language = pageLanguage();
    const rows = table.rows.flatMap(({ line, cells }) => {
      const said = faults
        .filter((fault) => fault.line === line)
        .map(({ place, message }) => `${titleIn(type, place)}: ${message}`);
      return said.length === 0
        ? []
        : [[...table.head.map((_, at) => csvText(say, cells[at] ?? null, language)), said.join(' · ')]];
    });
    save(
      await writeCsv([[...table.head, say('import.fault')], ...rows], decimalMark(language) === ','),
      `${type.path}-${say('import.fault')}.csv`,
    );
  };

  const changeText = (names: readonly string[]): string =>
    say('import.change', { names: names.map((name) => titleIn(type, name)).join(', ') });
  const isReady = preview !== undefined && preview.faults.length === 0;
  const begun = batches[written]?.records[0]?.line ?? 0;
  const left = recordsIn(batches.slice(written));
  const hasOpen = preview?.faults.some(({ isOpen }) => isOpen) === true;
  return (
    <Window
      title={say('import.title', { types: inSentence(type.title.many) })}
      width="md"
      onClose={onClose}
      closeText={say(written > 0 ? 'app.close' : 'filter.cancel')}
      work={isWriting ? work : undefined}
      actions={
        source &&
        (isReady ? (
          <Button variant="contained" disabled={isWorking} onClick={() => void write()}>
            {say('import.start', { smart_count: left, formatted: numberText(left) })}
          </Button>
        ) : (
          <Button variant="contained" disabled={isWorking || count === 0} onClick={() => void tryOut(source)}>
            {say('import.try')}
          </Button>
        ))
      }
    >
      <Stack spacing={2}>
        <Typography variant="body2">{say('import.help')}</Typography>
        <Stack direction="row" spacing={2} sx={{ alignItems: 'center' }}>
          <Button variant="outlined" disabled={isWorking} onClick={() => input.current?.click()}>
            {say('import.choose')}
          </Button>
          <input
            ref={input}
            type="file"
            accept=".xlsx,.csv,text/csv"
            hidden
            onChange={({ target: { files } }) => void choose(files?.[0])}
          />
          {source && (
            <Typography variant="body2" role="status">
              <bdi>{source.name}</bdi>: {say('list.total', { smart_count: count, formatted: numberText(count) })}
            </Typography>
          )}
        </Stack>
        {matching.length > 0 && (
          <Select
            label={say('import.matching')}
            value={choice}
            disabled={isWorking || written > 0}
            onChoose={(value) => {
              setChoice(value);
              forget();
            }}
            options={[
              [CREATE, say('import.create')],
              ...matching.map((names) => [names.join(), changeText(names)] as const),
            ]}
          />
        )}
        {source && (
          <ColumnChoices
            type={type}
            head={source.table.head}
            members={members}
            isDisabled={isWorking || written > 0}
            onMembers={(next) => {
              setMembers(next);
              forget();
            }}
          />
        )}
        {(hasOpen || decimal !== undefined) && (
          <Select
            label={say('import.decimal')}
            value={decimal ?? ''}
            onChoose={(value) => {
              setDecimal(value);
              forget();
            }}
            options={[
              [',', say('import.decimal_comma')],
              ['.', say('import.decimal_point')],
            ]}
          />
        )}
        {batches.length > 1 && <Alert severity="info">{say('import.parts', { smart_count: batches.length })}</Alert>}
        {written > 0 && <Alert severity="warning">{say('import.begun', { line: begun })}</Alert>}
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
        {isReady && <Changes changes={preview.changes} />}
        {preview && preview.faults.length > 0 && (
          <>
            <Alert severity="error">{say('import.faults', { smart_count: preview.faults.length })}</Alert>
            <FaultTable type={type} faults={preview.faults} />
            {source && (
              <Button onClick={() => void saveFaults(source, preview.faults)} sx={{ justifySelf: 'start' }}>
                {say('import.save_faults')}
              </Button>
            )}
          </>
        )}
      </Stack>
    </Window>
  );
}

const titleIn = ({ identifier, fields, relations }: TypeInfo, name: string): string =>
  [identifier, ...fields, ...relations].find((one) => one.name === name)?.title ?? name;

interface ColumnChoicesProps {
  readonly type: TypeInfo;
  readonly head: readonly string[];
  readonly members: readonly (Member | undefined)[];
  readonly isDisabled: boolean;
  readonly onMembers: (members: readonly (Member | undefined)[]) => void;
}

/** What each column of the file is. */
function ColumnChoices({ type, head, members, isDisabled, onMembers }: ColumnChoicesProps) {
  const say = useText();
  const all = membersOf(type);
  return (
    <Box sx={{ display: 'grid', gap: 1.5, gridTemplateColumns: 'repeat(auto-fill, minmax(11rem, 1fr))' }}>
      {head.map((title, at) => (
        <Select
          // Two columns may have the same head.
          // oxlint-disable-next-line react/no-array-index-key
          key={at}
          label={title}
          value={members[at]?.name ?? ''}
          disabled={isDisabled}
          onChoose={(value) => {
            const chosen = all.find(({ name }) => name === value);
            onMembers(members.with(at, chosen));
          }}
          slotProps={{ ...SHRUNK, select: { displayEmpty: true } }}
          options={[['', say('import.left_out')], ...all.map((one) => [one.name, one.title] as const)]}
        />
      ))}
    </Box>
  );
}

const MOST_CHANGES = 100;

function Changes({ changes }: { readonly changes: readonly CellChange[] }) {
  const say = useText();
  if (changes.length === 0) return undefined;
  return (
    <Grid
      label={say('import.changes')}
      maxHeight="40vh"
      most={MOST_CHANGES}
      rows={changes.map((change) => ({
        key: `${change.name} ${change.member.name}`,
        cells: [
          <bdi key="name">{change.name}</bdi>,
          change.member.title,
          <span key="change">
            <MemberValue member={change.member} value={change.was} /> →{' '}
            <MemberValue member={change.member} value={change.will} />
          </span>,
        ],
      }))}
    />
  );
}
