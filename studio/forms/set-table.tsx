/** Records that belong to this one and have a few short values: a row of inputs for each. */
import { Box, FormHelperText, TableCell, TableRow } from '@mui/material';
import { type KeyboardEvent, memo, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { useFormContext, useWatch } from 'react-hook-form';
import { Grid } from '../app/grid.tsx';
import { goTo } from '../app/typed-ahead.ts';
import { type FieldInfo, isToMany, type RelationInfo, type TypeInfo } from '../data/model.ts';
import { isRight, isSummable, isWide } from '../presentations/choose.ts';
import { isWritable } from '../presentations/field-draft.ts';
import { currencyField, numberInWords, sumOf } from '../presentations/numbers.ts';
import { pageLanguage, plainText } from '../presentations/plain.ts';
import { DIGITS, titleOf } from '../presentations/presentation.ts';
import { HIDDEN } from '../presentations/shown.tsx';
import { useText } from '../texts/texts.ts';
import { type Draft, itemsOf, keyOf } from './draft.ts';
import { FieldInput } from './field-input.tsx';
import type { RelationInputs } from './record-inputs.tsx';
import { positionField } from './positions.ts';

const MOST_COLUMNS = 6;

type Column = { readonly name: string; readonly title: string } & (
  | { readonly field: FieldInfo }
  | { readonly relation: RelationInfo }
);

/** Undefined: there is too much of each record for a row. */
export function setColumns(relation: RelationInfo, type: TypeInfo): readonly Column[] | undefined {
  const position = positionField(type);
  const fields = type.fields.filter((field) => isWritable(field) && field.name !== position?.name);
  const relations = type.relations.filter(({ name, readOnly }) => name !== relation.inverse && !readOnly);
  const isPlain = relations.every((one) => !isToMany(one) && one.nested === 'link' && one.owned !== true);
  if (type.open || !isPlain || fields.some(isWide) || fields.length + relations.length > MOST_COLUMNS) return undefined;
  const linked = relations.map((one) => ({ name: one.name, title: titleOf(one), relation: one }));
  return [...linked, ...fields.map((field) => ({ name: field.name, title: titleOf(field), field }))];
}

interface SetTableProps {
  readonly relation: RelationInfo;
  readonly path: string;
  readonly columns: readonly Column[];
  /** By their places in the form. */
  readonly rows: readonly Omit<RowProps, 'path' | 'columns' | 'index' | 'isNext' | 'inputFor' | 'buttonsAt'>[];
  readonly inputFor: RelationInputs;
  readonly buttonsAt: (index: number) => ReactNode;
  /** Whether a row was only just added. */
  readonly adding: RefObject<boolean>;
  /** Undefined: no more can be made here. */
  readonly onAdd: (() => void) | undefined;
}

export const INPUT = 'input:not([type=hidden]), textarea, [role=combobox]';

function focusIn(row: Element | undefined | null, column: number): void {
  goTo(row?.querySelectorAll('td')[column]?.querySelector<HTMLElement>(INPUT));
}

const isNumeric = (column: Column): boolean => 'field' in column && isRight(column.field);
const summed = (column: Column): FieldInfo | undefined =>
  'field' in column && isRight(column.field) && isSummable(column.field) ? column.field : undefined;

export function SetTable({ relation, columns, rows, adding, onAdd, ...common }: SetTableProps) {
  const say = useText();
  const table = useRef<HTMLTableElement>(null);
  const [focused, setFocused] = useState(0);
  // A row that was added is what a person wants to type into.
  useEffect(() => {
    if (adding.current) focusIn(table.current?.tBodies[0]?.rows[rows.length - 1], 0);
    adding.current = false;
  }, [rows.length, adding]);
  /** Enter goes on to the next row, and adds one behind the last. */
  const press = (event: KeyboardEvent<HTMLElement>): void => {
    const { target, key } = event;
    if (key !== 'Enter' || event.defaultPrevented || event.ctrlKey || event.metaKey) return;
    if (!(target instanceof HTMLElement) || target.closest('[aria-expanded=true], textarea, button') !== null) return;
    const cell = target.closest('td');
    const row = cell?.closest('tr');
    if (!cell || !row) return;
    event.preventDefault();
    if (row.nextElementSibling !== null) focusIn(row.nextElementSibling, cell.cellIndex);
    else onAdd?.();
  };
  const hasSums = rows.length > 1 && columns.some((column) => summed(column) !== undefined);
  const more = (
    <Box component="span" sx={HIDDEN}>
      {say('list.more')}
    </Box>
  );
  return (
    <Box
      onKeyDown={press}
      onFocus={({ target }) =>
        setFocused((target.closest('tbody tr') as HTMLTableRowElement | null)?.sectionRowIndex ?? 0)
      }
    >
      <Grid
        label={relation.title}
        tableRef={table}
        sx={ROWS}
        heads={[
          ...columns.map((column) => ({ key: column.name, title: column.title, isRight: isNumeric(column) })),
          { key: '', title: more },
        ]}
        footer={
          hasSums
            ? [
                ...columns.map((column, index) => {
                  const field = summed(column);
                  return field ? <Sum path={common.path} field={field} /> : index === 0 && say('form.sum');
                }),
                undefined,
              ]
            : undefined
        }
      >
        {rows.map(({ key, ...row }, index) => (
          <SetRow
            key={key}
            {...row}
            {...common}
            columns={columns}
            index={index}
            // Enter goes to it before it was in sight.
            isNext={index === focused + 1 || (adding.current && index === rows.length - 1)}
          />
        ))}
      </Grid>
    </Box>
  );
}

interface RowProps extends Pick<SetTableProps, 'path' | 'columns' | 'inputFor' | 'buttonsAt'> {
  readonly key: string;
  readonly title: string;
  readonly index: number;
  /** Its buttons depend on it. */
  readonly isLast: boolean;
  readonly isNext: boolean;
  readonly hasFault: boolean;
  /** Of the whole row. */
  readonly fault: string | undefined;
}

/** So many rows have inputs at once. */
const FIRST = 15;
const NEAR = '500px';

/** Rows far from what is in sight are texts: hundreds of inputs take seconds to make. */
const SetRow = memo(function SetRow(props: Omit<RowProps, 'key'>) {
  const { path, columns, inputFor, buttonsAt, title, index, isNext, hasFault, fault } = props;
  const [wasSeen, setSeen] = useState(index < FIRST);
  const isSeen = wasSeen || isNext;
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isNext) setSeen(true);
    if (isSeen || row.current === null) return undefined;
    const seen = ([entry]: readonly IntersectionObserverEntry[]): void => setSeen(entry?.isIntersecting === true);
    const observer = new IntersectionObserver(seen, { rootMargin: NEAR });
    observer.observe(row.current);
    return () => observer.disconnect();
  }, [isSeen, isNext]);
  const pathOf = ({ name }: Column): string => `${path}.${index}.record.${keyOf(name)}`;
  return (
    <TableRow ref={row} aria-label={title}>
      {columns.map((column, at) => (
        <TableCell
          key={column.name}
          className={isNumeric(column) ? 'digits' : ''}
          style={{ minWidth: 'relation' in column ? 260 : 110 }}
        >
          {!isSeen && !hasFault ? (
            <TypedText column={column} path={pathOf(column)} />
          ) : 'field' in column ? (
            <FieldInput field={column.field} path={pathOf(column)} />
          ) : (
            inputFor(column.relation, pathOf(column))
          )}
          {at === 0 && fault !== undefined && <FormHelperText error>{fault}</FormHelperText>}
        </TableCell>
      ))}
      <TableCell className="buttons">{(isSeen || hasFault) && buttonsAt(index)}</TableCell>
    </TableRow>
  );
});

/** What is typed, without an input. */
function TypedText({ column, path }: { readonly column: Column; readonly path: string }): ReactNode {
  const say = useText();
  const draft = useFormContext().getValues(path) as Draft;
  if (!('field' in column)) return itemsOf(draft)[0]?.name;
  return typeof draft === 'string' || typeof draft === 'boolean' ? plainText(say, column.field, String(draft)) : '';
}

/** Of what is typed, as far as it is numbers; with each of their digits. Amounts of several currencies have no sum. */
function Sum({ path, field }: { readonly path: string; readonly field: FieldInfo }) {
  const lines: unknown = useWatch({ name: path });
  const currency = currencyField(field);
  const amounts = itemsOf(lines as Draft)
    .map(({ record }) => [field.name, currency ?? ''].map((name) => String(record?.[keyOf(name)] ?? '')))
    .filter(([text]) => text !== '');
  if (new Set(amounts.map(([, unit]) => unit)).size > 1) return undefined;
  const texts = amounts.map(([text = '']) => text);
  return <bdi style={DIGITS}>{numberInWords(sumOf(texts), pageLanguage())}</bdi>;
}

/** The heads of the columns say what the inputs are; screen readers hear it at each of them. */
export const COMPACT = {
  '& .MuiInputLabel-root': HIDDEN,
  '& legend': { display: 'none' },
  '& fieldset': { top: 0 },
  '& .MuiFormHelperText-root:not(.Mui-error, [role=status])': HIDDEN,
} as const;

const ROWS = {
  ...COMPACT,
  '& td': { verticalAlign: 'top', px: 0.75, py: 0.5, borderBottom: 0 },
  '& tbody td': { height: 48 },
  '& td.digits': { textAlign: 'end' },
  '& td.buttons': { whiteSpace: 'nowrap', width: '1%' },
  '& th': { px: 0.75 },
  '& td.digits input': { textAlign: 'end', fontVariantNumeric: 'tabular-nums' },
} as const;
