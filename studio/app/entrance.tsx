/** Before the first page: reads what there is, and asks for a token if the service wants one. */
import { Alert, Box, CircularProgress, Paper, Typography } from '@mui/material';
import { useCallback, useEffect, useState } from 'react';
import { readModel, type StudioModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { fetchModel } from '../data/request.ts';
import { forgetToken, keepToken, keptToken } from '../data/token.ts';
import { useText } from '../texts/texts.ts';
import { Late } from './waiting.tsx';
import { ProblemAlert } from './problem-alert.tsx';
import { TokenInput } from './token-input.tsx';

interface EntranceProps {
  readonly title: string;
  /** The document as it was asked for before. Undefined: it is asked for now. */
  readonly asked: Promise<string> | undefined;
  readonly onModel: (model: StudioModel) => void;
}

type State =
  | { readonly at: 'looking' }
  | { readonly at: 'asking'; readonly refused?: string }
  | { readonly at: 'failed'; readonly error: unknown };

export function Entrance({ title, asked, onModel }: EntranceProps) {
  const say = useText();
  const [state, setState] = useState<State>({ at: 'looking' });
  const look = useCallback(
    async (token: string | undefined, text = fetchModel(token)): Promise<void> => {
      setState({ at: 'looking' });
      try {
        const model = readModel(await text);
        if (token !== undefined) keepToken(token);
        onModel(model);
      } catch (error) {
        const { status, message } = problemOf(error);
        if (status !== 401 && status !== 403) return setState({ at: 'failed', error });
        if (token !== undefined && token === keptToken()) forgetToken();
        setState({ at: 'asking', ...(token === undefined ? {} : { refused: message }) });
      }
    },
    [onModel],
  );
  useEffect(() => void look(keptToken(), asked), [look, asked]);

  if (state.at === 'looking')
    return (
      <Box
        role="status"
        aria-label={say('app.loading')}
        sx={{ display: 'grid', placeItems: 'center', height: '100vh' }}
      >
        <Late>
          <CircularProgress aria-hidden />
        </Late>
      </Box>
    );
  return (
    <Box component="main" sx={{ display: 'grid', placeItems: 'center', minHeight: '100vh', p: 2 }}>
      <Paper variant="outlined" sx={{ p: 4, width: '100%', maxWidth: 440 }}>
        <Typography variant="body2" sx={{ color: 'text.secondary' }}>
          {title}
        </Typography>
        {state.at === 'failed' ? (
          <ProblemAlert error={state.error} onRetry={() => void look(keptToken())} />
        ) : (
          <>
            <Typography variant="h1">{say('token.title')}</Typography>
            {state.refused !== undefined && (
              <Alert severity="error">{say('token.refused', { message: state.refused })}</Alert>
            )}
            <TokenInput help={say('token.help')} onToken={(token) => void look(token)} />
          </>
        )}
      </Paper>
    </Box>
  );
}
