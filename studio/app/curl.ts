/** Copies the request behind a screen. */
import IconButton from '@mui/material/IconButton';
import Tooltip from '@mui/material/Tooltip';
import { useNotify } from 'ra-core';
import { useModel } from '../data/model.ts';
import { asCurl, type Sent } from '../data/request.ts';
import { useText } from '../texts/texts.ts';
import { CodeIcon } from './icons.tsx';

interface CurlButtonProps {
  /** Of a form, what would be sent now. Undefined: it cannot be sent as it is, and that is said elsewhere. */
  readonly sent: Sent | (() => Sent | undefined);
}

export function CurlButton({ sent }: CurlButtonProps) {
  const say = useText();
  const notify = useNotify();
  const { token } = useModel();
  const copy = (): void => {
    const request = typeof sent === 'function' ? sent() : sent;
    if (request === undefined) return;
    // Browsers have a clipboard on secure origins only.
    const writing = (navigator.clipboard as Clipboard | undefined)?.writeText(asCurl(request, token !== null));
    (writing ?? Promise.reject(new Error('no clipboard'))).then(
      () => notify(say('curl.copied'), { type: 'info' }),
      () => notify(say('curl.failed'), { type: 'error' }),
    );
  };
  return (
    <Tooltip title={say('curl.show')}>
      <IconButton aria-label={say('curl.show')} onClick={copy}>
        <CodeIcon />
      </IconButton>
    </Tooltip>
  );
}
