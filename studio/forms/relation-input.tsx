/** The input of a relation: a record is chosen or made in place; records that belong to this one are edited within it. */
import Box from '@mui/material/Box';
import Button from '@mui/material/Button';
import Chip from '@mui/material/Chip';
import FormHelperText from '@mui/material/FormHelperText';
import IconButton from '@mui/material/IconButton';
import Paper from '@mui/material/Paper';
import Typography from '@mui/material/Typography';
import { get, useFieldArray, useFormContext, useFormState, useWatch } from 'react-hook-form';
import { AddIcon, CloseIcon, DownIcon, UpIcon } from '../app/icons.tsx';
import { isToMany, type RelationInfo, typeNamed, useModel } from '../data/model.ts';
import { Picker } from '../fields/picker.tsx';
import type { Choice } from '../fields/search.ts';
import { useText } from '../texts/texts.ts';
import { isInline, type Item, newItem } from './draft.ts';
import { RecordInputs, type RelationInputs, WIDE } from './record-inputs.tsx';

interface RelationInputProps {
  readonly relation: RelationInfo;
  readonly path: string;
}

export const inputFor: RelationInputs = (relation, path) =>
  isToMany(relation) ? (
    <SetInput key={path} relation={relation} path={path} />
  ) : (
    <OneInput key={path} relation={relation} path={path} />
  );

function useFault(path: string): string | undefined {
  const { errors } = useFormState({ name: path });
  const fault = get(errors, path) as { readonly message?: unknown } | undefined;
  const message = fault?.message;
  return typeof message === 'string' ? message : undefined;
}

const titleOf = ({ title, required }: RelationInfo): string => (required === true ? `${title} *` : title);
const linked = ({ id, name }: Choice): Item => ({ id, name, record: null });

function OneInput({ relation, path }: RelationInputProps) {
  const say = useText();
  const model = useModel();
  const fault = useFault(path);
  const { setValue, clearErrors } = useFormContext();
  const item = (useWatch({ name: path }) ?? null) as Item | null;
  const set = (next: Item | null): void => {
    clearErrors(path);
    setValue(path, next, { shouldDirty: true });
  };
  const create = relation.canCreate && (
    <Button size="small" startIcon={<AddIcon />} onClick={() => set(newItem(model, relation))}>
      {say('form.create', { type: typeNamed(model, relation.type).title.one })}
    </Button>
  );
  if (item !== null && item.record !== null)
    return (
      <Nested relation={relation} path={path} item={item} title={titleOf(relation)} fault={fault}>
        <RemoveButton relation={relation} onClick={() => set(null)} />
      </Nested>
    );
  if (isInline(relation))
    return (
      <Box sx={WIDE}>
        <Typography variant="h2">{titleOf(relation)}</Typography>
        {create}
        <Help fault={fault} text={relation.description} />
      </Box>
    );
  return (
    <Box>
      <Picker
        relation={relation}
        label={titleOf(relation)}
        value={item === null || item.id === null ? null : { id: item.id, name: item.name }}
        onChange={(choice) => set(choice === null ? null : linked(choice))}
        help={relation.description}
        fault={fault}
      />
      {create}
    </Box>
  );
}

const Help = ({ fault, text }: { readonly fault: string | undefined; readonly text: string | undefined }) => (
  <FormHelperText error={fault !== undefined}>{fault ?? text}</FormHelperText>
);

function RemoveButton({
  relation,
  onClick,
  name = relation.title,
}: {
  readonly relation: RelationInfo;
  readonly onClick: () => void;
  readonly name?: string;
}) {
  const say = useText();
  const label = say('form.remove', { name });
  return (
    <IconButton size="small" aria-label={label} title={label} onClick={onClick}>
      <CloseIcon fontSize="small" />
    </IconButton>
  );
}

interface NestedProps extends RelationInputProps {
  readonly item: Item;
  readonly title: string;
  readonly fault: string | undefined;
  readonly children: React.ReactNode;
}

/** A record within the form. */
function Nested({ relation, path, item, title, fault, children }: NestedProps) {
  const model = useModel();
  const type = typeNamed(model, relation.type);
  return (
    <Paper component="fieldset" variant="outlined" sx={{ ...WIDE, m: 0, p: 2, minWidth: 0 }}>
      <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, mb: 2 }}>
        <Typography component="legend" variant="h2" sx={{ flexGrow: 1, p: 0 }}>
          {title}
        </Typography>
        {children}
      </Box>
      {fault === undefined ? undefined : <Help fault={fault} text={undefined} />}
      <RecordInputs
        type={type}
        path={`${path}.record.`}
        draft={item.record ?? {}}
        through={relation}
        inputFor={inputFor}
      />
    </Paper>
  );
}

function SetInput({ relation, path }: RelationInputProps) {
  const say = useText();
  const model = useModel();
  const type = typeNamed(model, relation.type);
  const fault = useFault(path);
  const { clearErrors } = useFormContext();
  const { fields, append, remove, move } = useFieldArray({ name: path, keyName: '#key' });
  const items = fields as unknown as readonly (Item & { readonly '#key': string })[];
  const add = (item: Item): void => {
    clearErrors(path);
    append(item, { shouldFocus: false });
  };
  return (
    <Box component="section" aria-label={relation.title} sx={{ ...WIDE, display: 'grid', gap: 1.5 }}>
      <Box>
        <Typography variant="h2">{titleOf(relation)}</Typography>
        <Help fault={fault} text={relation.description} />
      </Box>
      <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 1 }}>
        {items.map((item, index) =>
          item.record === null ? (
            <Chip key={item['#key']} label={<bdi>{item.name}</bdi>} onDelete={() => remove(index)} />
          ) : undefined,
        )}
      </Box>
      {items.map((item, index) =>
        item.record === null ? undefined : (
          <Nested
            key={item['#key']}
            relation={relation}
            path={`${path}.${index}`}
            item={item}
            title={item.id === null ? say('form.new', { type: type.title.one }) : item.name}
            fault={undefined}
          >
            <MoveButton
              text={say('form.up')}
              isOff={index === 0}
              onClick={() => move(index, index - 1)}
              Icon={UpIcon}
            />
            <MoveButton
              text={say('form.down')}
              isOff={index === items.length - 1}
              onClick={() => move(index, index + 1)}
              Icon={DownIcon}
            />
            <RemoveButton relation={relation} name={item.name || type.title.one} onClick={() => remove(index)} />
          </Nested>
        ),
      )}
      <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 1, alignItems: 'center' }}>
        {isInline(relation) ? undefined : (
          <Box sx={{ flex: '1 1 16rem', maxWidth: 400 }}>
            <Picker
              key={items.length}
              relation={relation}
              label={say('form.add', { type: type.title.one })}
              value={null}
              without={items.flatMap(({ id }) => id ?? [])}
              onChange={(choice) => choice !== null && add(linked(choice))}
            />
          </Box>
        )}
        {relation.canCreate && (
          <Button size="small" startIcon={<AddIcon />} onClick={() => add(newItem(model, relation))}>
            {say('form.create', { type: type.title.one })}
          </Button>
        )}
      </Box>
    </Box>
  );
}

interface MoveButtonProps {
  readonly text: string;
  readonly isOff: boolean;
  readonly onClick: () => void;
  readonly Icon: typeof UpIcon;
}

const MoveButton = ({ text, isOff, onClick, Icon }: MoveButtonProps) => (
  <IconButton size="small" aria-label={text} title={text} disabled={isOff} onClick={onClick}>
    <Icon fontSize="small" />
  </IconButton>
);
