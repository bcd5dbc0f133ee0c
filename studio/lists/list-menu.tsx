/** The menus of a list: its columns and rows, export and import. */
import { useListContext, useStore } from 'ra-core';
import { useState } from 'react';
import { useLocation, useNavigate, useSearchParams } from 'react-router-dom';
import { dialog } from '../app/boundary.tsx';
import { ColumnsIcon, ExportIcon, ImportIcon } from '../app/icons.tsx';
import { MenuButton, MoreMenu } from '../app/menu.tsx';
import { addressOf, COLUMNS } from '../data/address.ts';
import { can, type TypeInfo } from '../data/model.ts';
import type { Found } from '../many/export.ts';
import { numberText, inSentence, useText } from '../texts/texts.ts';
import type { ChosenColumns } from './columns.ts';
import type { Density } from './record-table.tsx';
import { useViews } from './saved-views.ts';

const ExportDialog = dialog(() => import('../many/export-dialog.tsx'));
const ImportDialog = dialog(() => import('../many/import-dialog.tsx'));

const DeletedDialog = dialog(() => import('./deleted-dialog.tsx'));
const SaveView = dialog(() => import('./views.tsx'));

const SIZES = [10, 25, 50, 100];

interface ListMenuProps {
  readonly type: TypeInfo;
  readonly columns: ChosenColumns;
  readonly found: Found;
  readonly onRefresh: () => void;
}

export function ListMenu({ type, columns, found, onRefresh }: ListMenuProps) {
  const say = useText();
  const { perPage, setPerPage } = useListContext();
  const [, keepSize] = useStore<number>('size');
  const [open, setOpen] = useState<'export' | 'import' | 'view' | 'deleted' | undefined>(
    useLocation().state?.open === 'export' ? 'export' : undefined,
  );
  const sizes = [...new Set([...SIZES.filter((size) => size <= type.list.maxLimit), perPage])].toSorted(
    (a, b) => a - b,
  );
  const [density, setDensity] = useStore<Density>('density', 'dense');
  const [views, setViews] = useViews(type.path);
  const [search] = useSearchParams();
  const navigate = useNavigate();
  // Colleagues who open the address see the same columns.
  const address = (): string => {
    const params = new URLSearchParams(search);
    params.set(COLUMNS, columns.shown.map(({ name }) => name).join(','));
    return addressOf(params);
  };
  const saved = views.find((view) => view.search === address());
  const saveView = (name: string): void => {
    setOpen(undefined);
    setViews([...views.filter((view) => view.name !== name), { name, search: address() }]);
    void navigate(`/${type.path}${address()}`);
  };
  const names = new Set(columns.shown.map(({ name }) => name));
  return (
    <>
      <MenuButton
        text={say('list.columns')}
        Icon={ColumnsIcon}
        groups={[
          {
            items: columns.all.map(({ name, title }) => ({
              text: title,
              isTicked: names.has(name),
              to: () => columns.toggle(name),
            })),
          },
          { items: [{ text: say('list.reset_columns'), to: columns.reset }] },
        ]}
      />
      <MoreMenu
        groups={[
          {
            items: [
              {
                text: say('export.title', { types: inSentence(type.title.many) }),
                Icon: ExportIcon,
                to: () => setOpen('export'),
              },
              ...(can(type, 'create')
                ? [
                    {
                      text: say('import.title', { types: inSentence(type.title.many) }),
                      Icon: ImportIcon,
                      to: () => setOpen('import'),
                    },
                  ]
                : []),
            ],
          },
          {
            items: [
              { text: say('view.save'), to: () => setOpen('view') },
              ...(saved === undefined
                ? []
                : [
                    {
                      text: say('view.remove', { name: saved.name }),
                      to: () => setViews(views.filter((view) => view !== saved)),
                    },
                  ]),
              { text: say('list.refresh'), to: onRefresh },
              ...(type.history ? [{ text: say('list.deleted'), to: () => setOpen('deleted') }] : []),
            ],
          },
          {
            title: say('list.rows'),
            items: (['dense', 'comfortable'] as const).map((one) => ({
              text: say(`list.${one}`),
              isChosen: one === density,
              to: () => setDensity(one),
            })),
          },
          {
            title: say('list.per_page'),
            items: sizes.map((size) => ({
              text: numberText(size),
              isChosen: size === perPage,
              to: () => {
                keepSize(size);
                setPerPage(size);
              },
            })),
          },
        ]}
      />
      {open === 'export' && (
        <ExportDialog
          found={found}
          columns={columns.shown.map(({ name }) => name)}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'view' && <SaveView onClose={() => setOpen(undefined)} onSave={saveView} />}
      {open === 'deleted' && <DeletedDialog type={type} onClose={() => setOpen(undefined)} />}
      {open === 'import' && <ImportDialog type={type} onClose={() => setOpen(undefined)} />}
    </>
  );
}
