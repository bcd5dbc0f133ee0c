/** What operators want to know of each kind of step before it is made. */
import type { StepCode } from './steps.ts';

/**
 * What an instance of the version before sees once the step is made. same: nothing. named: it goes on, under its own
 * names, unless the type is open. follow: it goes on, by the new rules.
 * read: it cannot create such records any more (503). refuse: it cannot use the type any more (503).
 */
type Older = 'same' | 'named' | 'follow' | 'read' | 'refuse';

/** Whether `apply --back` restores what was: always, if the records fit by then, or not, since something is lost. */
type Undo = 'always' | 'ifRecordsFit' | 'never';

interface StepNotes {
  readonly older: Older;
  readonly undo: Undo;
}

export const stepNotes = {
  'add-type': { older: 'same', undo: 'always' },
  'rename-type': { older: 'named', undo: 'always' },
  'rename-table': { older: 'same', undo: 'always' },
  'rename-column': { older: 'same', undo: 'always' },
  'rename-identifier': { older: 'named', undo: 'always' },
  'open-type': { older: 'same', undo: 'ifRecordsFit' },
  'claim-key': { older: 'follow', undo: 'always' },
  'close-type': { older: 'refuse', undo: 'never' },
  'drop-type': { older: 'refuse', undo: 'never' },
  'add-field': { older: 'same', undo: 'always' },
  'add-required-field': { older: 'read', undo: 'always' },
  'rename-field': { older: 'named', undo: 'always' },
  'convert-field': { older: 'refuse', undo: 'ifRecordsFit' },
  'replace-field': { older: 'refuse', undo: 'ifRecordsFit' },
  'narrow-field': { older: 'follow', undo: 'always' },
  'widen-field': { older: 'same', undo: 'ifRecordsFit' },
  'relax-field': { older: 'follow', undo: 'ifRecordsFit' },
  'require-field': { older: 'follow', undo: 'always' },
  'fill-field': { older: 'follow', undo: 'never' },
  'change-default': { older: 'same', undo: 'always' },
  'generate-field': { older: 'follow', undo: 'always' },
  'stop-generating': { older: 'follow', undo: 'always' },
  'add-caseless': { older: 'follow', undo: 'always' },
  'drop-caseless': { older: 'refuse', undo: 'ifRecordsFit' },
  'drop-field': { older: 'refuse', undo: 'never' },
  'add-relation': { older: 'same', undo: 'always' },
  'add-required-relation': { older: 'read', undo: 'always' },
  'rename-relation': { older: 'named', undo: 'always' },
  'relax-relation': { older: 'follow', undo: 'ifRecordsFit' },
  'require-relation': { older: 'follow', undo: 'always' },
  'share-relation': { older: 'refuse', undo: 'ifRecordsFit' },
  'unshare-relation': { older: 'follow', undo: 'always' },
  'forbid-cycles': { older: 'follow', undo: 'always' },
  'allow-cycles': { older: 'follow', undo: 'ifRecordsFit' },
  'change-deletion': { older: 'follow', undo: 'always' },
  'drop-relation': { older: 'refuse', undo: 'never' },
  'add-unique': { older: 'follow', undo: 'always' },
  'drop-unique': { older: 'follow', undo: 'ifRecordsFit' },
  'add-index': { older: 'same', undo: 'always' },
  'drop-index': { older: 'same', undo: 'always' },
  'add-check': { older: 'follow', undo: 'always' },
  'drop-check': { older: 'same', undo: 'always' },
  'remake-indexes': { older: 'same', undo: 'always' },
  'rebuild-table': { older: 'same', undo: 'always' },
  'not-renamed': { older: 'same', undo: 'never' },
} as const satisfies Record<StepCode, StepNotes>;

export const olderWords = {
  same: 'older instances notice nothing',
  named: 'older instances go on, under their own names, unless the type is open (503)',
  follow: 'older instances go on, by the new rules',
  read: 'older instances cannot create such records (503), unless the type is open',
  refuse: 'older instances cannot use the type (503)',
} as const satisfies Record<Older, string>;

export const undoWords = {
  always: 'can be undone',
  ifRecordsFit: 'can be undone if the records fit then',
  never: 'cannot be undone',
} as const satisfies Record<Undo, string>;
