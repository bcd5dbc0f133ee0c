/** The introduction to an empty database: what this is, and three ways to begin. */
import { Alert, Box, Button, Paper, Typography } from '@mui/material';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router-dom';
import { can, newPath, type TypeInfo, useModel } from '../data/model.ts';
import { send } from '../data/request.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { dialog } from './boundary.tsx';
import { AddIcon, ImportIcon } from './icons.tsx';
import { ProblemAlert } from './problem-alert.tsx';
import { makeSamples } from './samples.ts';

const ImportDialog = dialog(() => import('../many/import-dialog.tsx'));

const MOST = 4;

export default function Beginning({ types }: { readonly types: readonly TypeInfo[] }) {
  const say = useText();
  const model = useModel();
  const queries = useQueryClient();
  const created = types.filter((type) => can(type, 'create'));
  const [imported, setImported] = useState<TypeInfo>();
  const [isMaking, setMaking] = useState(false);
  const [error, setError] = useState<unknown>();
  const make = async (): Promise<void> => {
    setMaking(true);
    setError(undefined);
    try {
      await makeSamples(model, created, async (target, body) => (await send({ method: 'POST', target, body })).body);
    } catch (problem) {
      setError(problem);
    } finally {
      setMaking(false);
      await queries.invalidateQueries();
    }
  };
  if (created.length === 0) return undefined;
  return (
    <Paper variant="outlined" sx={{ p: { xs: 2, sm: 3 }, mb: 2 }}>
      <Typography variant="h2" sx={{ mb: 0.5 }}>
        {say('begin.title')}
      </Typography>
      <Typography variant="body2" sx={{ color: 'text.secondary', maxWidth: '44rem', mb: 2 }}>
        {say('begin.text', { title: model.title })}
      </Typography>
      <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 1 }}>
        {created.slice(0, MOST).map((type) => (
          <Button key={type.path} variant="outlined" startIcon={<AddIcon />} component={Link} to={newPath(type)}>
            {say('list.create', { type: inSentence(type.title.one) })}
          </Button>
        ))}
        {created.slice(0, 1).map((type) => (
          <Button key="import" variant="outlined" startIcon={<ImportIcon />} onClick={() => setImported(type)}>
            {say('import.title', { types: inSentence(type.title.many) })}
          </Button>
        ))}
        <Button variant="contained" loading={isMaking} onClick={() => void make()}>
          {say('begin.samples')}
        </Button>
      </Box>
      {error !== undefined && <ProblemAlert error={error} />}
      {isMaking && (
        <Alert severity="info" sx={{ mt: 2 }}>
          {say('begin.making')}
        </Alert>
      )}
      {imported !== undefined && <ImportDialog type={imported} onClose={() => setImported(undefined)} />}
    </Paper>
  );
}
