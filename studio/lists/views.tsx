/** Gives the view of a list a name. */
import { Button, Dialog, DialogActions, DialogContent, DialogTitle, TextField } from '@mui/material';
import { type FormEvent, useState } from 'react';
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
    <Dialog open onClose={onClose} fullWidth maxWidth="xs" aria-labelledby="view-title">
      <form onSubmit={save}>
        <DialogTitle id="view-title">{say('view.save')}</DialogTitle>
        <DialogContent sx={{ pt: '8px !important' }}>
          <TextField autoFocus label={say('view.name')} value={name} onChange={({ target }) => setName(target.value)} />
        </DialogContent>
        <DialogActions>
          <Button color="inherit" onClick={onClose}>
            {say('filter.cancel')}
          </Button>
          <Button type="submit" variant="contained" disabled={name.trim() === ''}>
            {say('form.save')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
