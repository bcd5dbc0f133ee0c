/** The token of this tab. Start page and reference keep theirs under the same key: it is entered once. */
const KEY = 'records-token';

export const keptToken = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined;
export const keepToken = (token: string): void => sessionStorage.setItem(KEY, token);
export const forgetToken = (): void => sessionStorage.removeItem(KEY);

/** Others could not be sent in a header. */
export const isToken = (text: string): boolean => /^[\w.~+/-]+=*$/.test(text);

/** A new tab asks those that are open for their token, so that nobody has to enter it again. Other sites hear none of it. */
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
