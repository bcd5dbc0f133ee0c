/** The names that follow from others where a descriptor does not give them. */
import { defaultPath, defaultTable, generatedName, snakeCase } from '../names.ts';
import type { Draft } from './draft.ts';

export const pathOf = ({ type = '', path }: Draft): string => path ?? defaultPath(type);
export const tableOf = ({ type = '', table }: Draft): string => table ?? defaultTable(type);

/** The column of a belongsTo. */
export const ownColumn = (relation: string): string => `${relation}_id`;

/** The column that a hasOne or hasMany without inverse keeps on its children. */
export const hiddenColumn = (parentType: string, relation: string): string =>
  generatedName(snakeCase(parentType), relation, 'id');

/** The table of a manyToMany, named by the side that comes first. */
export const joinTable = (table: string, relation: string): string => generatedName(table, relation);
