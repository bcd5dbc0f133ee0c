/** Gives the view of a list a name. */
import { Button, TextField } from '@mui/material';
import { type FormEvent, useState } from 'react';
import { Window } from '../app/window.tsx';
import { useText } from '../texts/texts.ts';

interface SaveViewProps {
  readonly onClose: () => void;
  readonly onSave: (name: string) => void;
}

export default function SaveView({ onClose, onSave }: SaveViewProps) {
  const say = useText();
  const [name, setName] = useState('');
  const save = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() !== '') onSave(name.trim());
  };
  return (
    <Window
      title={say('view.save')}
      width="xs"
      onClose={onClose}
      onSubmit={save}
      actions={
        <Button type="submit" variant="contained" disabled={name.trim() === ''}>
          {say('form.save')}
        </Button>
      }
    >
      <TextField autoFocus label={say('view.name')} value={name} onChange={({ target }) => setName(target.value)} />
    </Window>
  );
}
