/** `ATTACK=short` is quicker. */
export const isLong = process.env['ATTACK'] !== 'short';
