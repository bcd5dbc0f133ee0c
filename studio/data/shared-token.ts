/** A new tab asks those that are open for their token, so that nobody has to enter it again. Other sites hear none of it. */
import { isToken, keptToken } from './token.ts';

const NAME = 'records-token';
const ASKED = 'token?';
const PATIENCE_MS = 250;

/** Answers other tabs as long as this one has a token. */
export function answerTabs(): void {
  const channel = new BroadcastChannel(NAME);
  channel.addEventListener('message', ({ data }) => {
    const token = keptToken();
    if (data === ASKED && token !== undefined) channel.postMessage({ token });
  });
}

export function askTabs(): Promise<string | undefined> {
  const channel = new BroadcastChannel(NAME);
  return new Promise<string | undefined>((resolve) => {
    setTimeout(() => resolve(undefined), PATIENCE_MS);
    channel.addEventListener('message', ({ data }: MessageEvent<{ readonly token?: unknown } | string | null>) => {
      const token = typeof data === 'object' ? data?.token : undefined;
      if (typeof token === 'string' && isToken(token)) resolve(token);
    });
    channel.postMessage(ASKED);
  }).finally(() => channel.close());
}
