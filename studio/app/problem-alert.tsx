/** A problem in words, wherever one can occur. */
import { Alert, Button } from '@mui/material';
import { problemOf } from '../data/problem.ts';
import { keepToken } from '../data/token.ts';
import { pageLanguage } from '../presentations/plain.ts';
import type { TextKey } from '../texts/en.ts';
import { type Say, useText } from '../texts/texts.ts';
import { InTheWay } from './in-the-way.tsx';
import { TokenInput } from './token-input.tsx';

/** In English, the service says it better itself. */
const BY_CODE: Readonly<Record<string, TextKey>> = {
  'unique-conflict': 'problem.unique',
  'identifier-conflict': 'problem.unique',
  'restrict-conflict': 'problem.restrict',
  'invalid-reference': 'problem.reference',
  'invalid-body': 'problem.invalid',
  'invalid-query': 'problem.query',
  'content-too-large': 'problem.too_large',
  'too-many-rows': 'problem.too_large',
};

export function problemText(say: Say, error: unknown): string {
  const { status, code, message, retryAfter = 1 } = problemOf(error);
  if (status === 0) return say(code === 'unanswered' ? 'problem.unanswered' : 'problem.unreachable');
  if (status === 401) return say('problem.unauthorized');
  if (status === 403) return say('problem.forbidden', { message });
  if (status === 412) return say('problem.changed');
  if (status === 429 || status === 503) return say('problem.busy', { smart_count: retryAfter });
  if (code === 'outcome-unknown') return say('problem.unknown_outcome');
  if (code === 'record-not-found') return say('problem.gone');
  const key = BY_CODE[code];
  if (key !== undefined && !pageLanguage().startsWith('en')) return say(key);
  return message === '' || status >= 500 ? say('problem.failed', { code }) : say('problem.other', { message, code });
}

interface ProblemAlertProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** Whether the records that are in the way are named. */
  readonly isLinked?: boolean;
}

/** The same request again would be refused again. */
const isFinal = (status: number): boolean => status >= 400 && status < 500 && ![408, 412, 429].includes(status);

export function ProblemAlert({ error, onRetry, isLinked = true }: ProblemAlertProps) {
  const say = useText();
  const { status } = problemOf(error);
  const isRefused = status === 401;
  const take = (token: string): void => {
    keepToken(token);
    onRetry?.();
  };
  const retry = onRetry && !isFinal(status) && (
    <Button color="inherit" size="small" onClick={onRetry}>
      {say('problem.retry')}
    </Button>
  );
  return (
    <Alert severity="error" action={retry}>
      {problemText(say, error)}
      {isLinked && <InTheWay error={error} />}
      {isRefused && onRetry !== undefined && <TokenInput onToken={take} />}
    </Alert>
  );
}
