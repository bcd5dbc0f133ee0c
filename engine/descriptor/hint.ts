/** What was probably meant by a value of the wrong type. */
const truths: ReadonlyMap<string, boolean> = new Map([
  ...['yes', 'on', 'true', 'y'].map((word) => [word, true] as const),
  ...['no', 'off', 'false', 'n'].map((word) => [word, false] as const),
]);

/** The end of a message, or nothing. YAML's usual slips: numbers without quotes, and the words for true and false of its older version. */
export function hint(type: unknown, value: unknown): string {
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return `; write it in quotes: "${String(value)}"`;
  const word = typeof value === 'string' ? truths.get(value.toLowerCase()) : undefined;
  if (type === 'boolean' && word !== undefined) return `; write ${word}`;
  if (
    (type === 'integer' || type === 'number') &&
    typeof value === 'string' &&
    value !== '' &&
    !Number.isNaN(Number(value))
  )
    return `; write it without quotes: ${value}`;
  return type === 'array' && typeof value === 'string' ? `; write [${value}]` : '';
}
