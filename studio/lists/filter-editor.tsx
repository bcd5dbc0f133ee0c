/** Edits the filters of a list: conditions, groups of them, and conditions on the records of sets. */
import { Box, Button } from '@mui/material';
import { type FormEvent, useMemo, useState } from 'react';
import { AddIcon } from '../app/icons.tsx';
import { Window } from '../app/window.tsx';
import { type TypeInfo, useModel } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { draftOfNode, type FilterDraft, newGroup, newRow, nodesOf, OpenFilter } from './filter-draft.ts';
import { FilterGroup, FilterRow, KeptRow, STACK } from './filter-rows.tsx';
import { type FilterSubject, subjectsOf } from './filter-terms.ts';
import type { FilterNode } from '../data/filter-tree.ts';

interface FilterEditorProps {
  readonly type: TypeInfo;
  readonly nodes: readonly FilterNode[];
  /** Whether it begins with a new condition. */
  readonly isAdding: boolean;
  readonly onClose: () => void;
  readonly onNodes: (nodes: readonly FilterNode[]) => void;
}

export default function FilterEditor({ type, nodes, isAdding, onClose, onNodes }: FilterEditorProps) {
  const say = useText();
  const model = useModel();
  const subjects = useMemo(() => subjectsOf(model, type), [model, type]);
  const [drafts, setDrafts] = useState<readonly FilterDraft[]>(() => [
    ...nodes.map(draftOfNode),
    ...(isAdding ? [newRow()] : []),
  ]);
  const inside = ({ set }: FilterSubject): readonly FilterSubject[] =>
    set === undefined ? [] : subjectsOf(model, set);
  const apply = (event: FormEvent): void => {
    event.preventDefault();
    try {
      onNodes(nodesOf(drafts, subjects, inside));
    } catch (problem) {
      // It is not closed before it says something.
      if (!(problem instanceof OpenFilter)) throw problem;
    }
  };
  return (
    <Window
      title={say('filter.title')}
      width="md"
      onClose={onClose}
      onSubmit={apply}
      onFocus={(content) => isAdding || focusOnValue(content)}
      actions={
        <Button type="submit" variant="contained">
          {say('filter.apply')}
        </Button>
      }
    >
      <FilterItems subjects={subjects} drafts={drafts} groups={0} onDrafts={setDrafts} isFocused={isAdding} />
    </Window>
  );
}

/** Whoever opens a filter wants to change its value. */
function focusOnValue(dialog: HTMLElement): void {
  const inputs = dialog.querySelectorAll<HTMLElement>('[role=combobox], input:not([aria-hidden])');
  [...inputs].at(-1)?.focus();
}

/** Groups in each other, as the interface takes them. */
const MAX_GROUPS = 3;

interface FilterItemsProps {
  readonly subjects: readonly FilterSubject[];
  readonly drafts: readonly FilterDraft[];
  /** How many groups these are in. */
  readonly groups: number;
  readonly onDrafts: (drafts: readonly FilterDraft[]) => void;
  /** Whether the last one is what a person wants to type into. */
  readonly isFocused?: boolean;
}

function FilterItems({ subjects, drafts, groups, onDrafts, isFocused = false }: FilterItemsProps) {
  const say = useText();
  const model = useModel();
  const replace = (key: number, next: FilterDraft | undefined): void =>
    onDrafts(drafts.flatMap((draft) => (draft.key === key ? (next ?? []) : draft)));
  return (
    <Box sx={STACK}>
      {drafts.map((draft, index) => {
        const remove = (): void => replace(draft.key, undefined);
        if (draft.kind === 'kept') return <KeptRow key={draft.key} node={draft.node} onRemove={remove} />;
        if (draft.kind === 'group')
          return (
            <FilterGroup
              key={draft.key}
              mode={draft.mode}
              onMode={(mode) => replace(draft.key, { ...draft, mode })}
              onRemove={remove}
            >
              <FilterItems
                subjects={subjects}
                drafts={draft.items}
                groups={groups + 1}
                onDrafts={(items) => replace(draft.key, { ...draft, items })}
              />
            </FilterGroup>
          );
        return (
          <FilterRow
            key={draft.key}
            subjects={subjects}
            draft={draft}
            isFocused={isFocused && index === drafts.length - 1}
            onDraft={(next) => replace(draft.key, next)}
            onRemove={remove}
            inside={(set) => (
              <FilterItems
                subjects={subjectsOf(model, set)}
                drafts={draft.items}
                groups={groups}
                onDrafts={(items) => replace(draft.key, { ...draft, items })}
              />
            )}
          />
        );
      })}
      <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 1 }}>
        <Button size="small" startIcon={<AddIcon />} onClick={() => onDrafts([...drafts, newRow()])}>
          {say('filter.add_condition')}
        </Button>
        {groups < MAX_GROUPS && (
          <Button size="small" startIcon={<AddIcon />} onClick={() => onDrafts([...drafts, newGroup()])}>
            {say('filter.add_group')}
          </Button>
        )}
      </Box>
    </Box>
  );
}
