/** Copies the request behind a screen. */
import { useNotify } from 'ra-core';
import { useModel } from '../data/model.ts';
import { asCurl, type Sent } from '../data/request.ts';
import { useText } from '../texts/texts.ts';

/** Undefined: it cannot be sent as it is, and that is said elsewhere. */
export function useCurl(): (sent: Sent | undefined) => void {
  const say = useText();
  const notify = useNotify();
  const { token } = useModel();
  return (sent) => {
    if (sent === undefined) return;
    // Browsers have a clipboard on secure origins only.
    const writing = (navigator.clipboard as Clipboard | undefined)?.writeText(asCurl(sent, token !== null));
    (writing ?? Promise.reject(new Error('no clipboard'))).then(
      () => notify(say('curl.copied'), { type: 'info' }),
      () => notify(say('curl.failed'), { type: 'error' }),
    );
  };
}
