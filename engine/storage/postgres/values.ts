/** How PostgreSQL's values come out: as the text that they are kept by, and whole numbers as numbers. */
import type { SqlValue } from '../../field-types/field-type.ts';

type Parse = (text: string) => SqlValue;

const asText: Parse = (text) => text;
const toNumber: Parse = (text) => Number(text);

/** By type OID (pg_type.oid). */
const parsers: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [20, toNumber],
  [21, toNumber],
  [23, toNumber],
  // PostgreSQL writes 1e-07 where JavaScript writes 1e-7; equal numbers must be equal texts.
  [701, (text) => String(Number(text))],
]);

export const types = { getTypeParser: (oid: number): Parse => parsers.get(oid) ?? asText };
