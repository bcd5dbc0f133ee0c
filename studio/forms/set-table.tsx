/** Records that belong to this one and have a few short values: a row of inputs for each. */
import {
  Box,
  FormHelperText,
  Table,
  TableBody,
  TableCell,
  TableContainer,
  TableFooter,
  TableHead,
  TableRow,
} from '@mui/material';
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { useWatch } from 'react-hook-form';
import { type FieldInfo, isToMany, type RelationInfo, type TypeInfo } from '../data/model.ts';
import { isRight, isWide } from '../presentations/choose.ts';
import { isWritable } from '../presentations/field-draft.ts';
import { numberInWords, sumOf } from '../presentations/numbers.ts';
import { pageLanguage } from '../presentations/plain.ts';
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
  const linked = relations.map((one) => ({ name: one.name, title: labelOf(one), relation: one }));
  return [...linked, ...fields.map((field) => ({ name: field.name, title: titleOf(field), field }))];
}

const labelOf = ({ title, required }: RelationInfo): string => (required === true ? `${title} *` : title);

interface SetTableProps {
  readonly relation: RelationInfo;
  readonly path: string;
  readonly columns: readonly Column[];
  /** By their places in the form. */
  readonly rows: readonly {
    readonly key: string;
    readonly title: string;
    readonly fault: string | undefined;
    readonly buttons: ReactNode;
  }[];
  readonly inputFor: RelationInputs;
  /** Whether a row was only just added. */
  readonly adding: RefObject<boolean>;
  /** Undefined: no more can be made here. */
  readonly onAdd: (() => void) | undefined;
}

const INPUT = 'input:not([type=hidden]), textarea, [role=combobox]';

function focusIn(row: Element | undefined | null, column: number): void {
  row?.querySelectorAll('td')[column]?.querySelector<HTMLElement>(INPUT)?.focus();
}

export function SetTable({ relation, path, columns, rows, inputFor, adding, onAdd }: SetTableProps) {
  const say = useText();
  const body = useRef<HTMLTableSectionElement>(null);
  // A row that was added is what a person wants to type into.
  useEffect(() => {
    if (adding.current) focusIn(body.current?.rows[rows.length - 1], 0);
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
  const summed = columns.filter((column) => 'field' in column && isRight(column.field));
  return (
    <TableContainer role="region" aria-label={relation.title} tabIndex={0}>
      <Table size="small" sx={ROWS}>
        <TableHead>
          <TableRow>
            {columns.map((column) => (
              <TableCell key={column.name} align={'field' in column && isRight(column.field) ? 'right' : 'left'}>
                {column.title}
              </TableCell>
            ))}
            <TableCell>
              <Box component="span" sx={HIDDEN}>
                {say('list.more')}
              </Box>
            </TableCell>
          </TableRow>
        </TableHead>
        <TableBody ref={body} onKeyDown={press}>
          {rows.map(({ key, title, fault, buttons }, index) => (
            <TableRow key={key} aria-label={title}>
              {columns.map((column, at) => (
                <TableCell
                  key={column.name}
                  className={'field' in column && isRight(column.field) ? 'digits' : ''}
                  sx={{ minWidth: 'relation' in column ? 260 : 110 }}
                >
                  {'field' in column ? (
                    <FieldInput field={column.field} path={`${path}.${index}.record.${keyOf(column.name)}`} />
                  ) : (
                    inputFor(column.relation, `${path}.${index}.record.${keyOf(column.name)}`)
                  )}
                  {at === 0 && fault !== undefined && <FormHelperText error>{fault}</FormHelperText>}
                </TableCell>
              ))}
              <TableCell sx={{ whiteSpace: 'nowrap', width: '1%' }}>{buttons}</TableCell>
            </TableRow>
          ))}
        </TableBody>
        {summed.length > 0 && rows.length > 1 && (
          <TableFooter>
            <TableRow>
              {columns.map((column, index) => (
                <TableCell key={column.name} align={summed.includes(column) ? 'right' : 'left'}>
                  {summed.includes(column) ? <Sum path={path} name={column.name} /> : index === 0 && say('form.sum')}
                </TableCell>
              ))}
              <TableCell />
            </TableRow>
          </TableFooter>
        )}
      </Table>
    </TableContainer>
  );
}

/** Of what is typed, as far as it is numbers; with each of their digits. */
function Sum({ path, name }: { readonly path: string; readonly name: string }) {
  const lines: unknown = useWatch({ name: path });
  const texts = itemsOf(lines as Draft).map(({ record }) => String(record?.[keyOf(name)] ?? ''));
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
  '& th': { px: 0.75 },
  '& td.digits input': { textAlign: 'end', fontVariantNumeric: 'tabular-nums' },
} as const;
