/** A list that turns out to be short is answered whole, with length and tag; only a long one is streamed. */
export const GATHERED_LENGTH = 64 * 1024;

/** All pieces as one text, or, where they are more than that, as pieces. */
export async function gather(pieces: AsyncIterable<string>): Promise<string | AsyncIterable<string>> {
  const iterator = pieces[Symbol.asyncIterator]();
  let text = '';
  while (text.length <= GATHERED_LENGTH) {
    const next = await iterator.next();
    if (next.done === true) return text;
    text += next.value;
  }
  return continued(text, iterator);
}

/** Ending early ends what lies beneath. */
async function* continued(text: string, iterator: AsyncIterator<string>): AsyncIterable<string> {
  try {
    yield text;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}
