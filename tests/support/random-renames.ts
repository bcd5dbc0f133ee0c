/** The same schema with other names, each with the name that it had before. */
import type { ConditionsDescriptor, Descriptor } from '../../engine/descriptor/descriptor.ts';
import { isObject } from '../../engine/json.ts';
import * as fc from './fast-check.ts';

/** From few names, so that one takes the name that another one had long before. */
const TYPES = ['Red', 'Green', 'Blue', 'White', 'Black'];
const FIELDS = ['field0', 'field1', 'field2', 'field3', 'field4'];
const RELATIONS = Array.from({ length: 10 }, (_, index) => `way${index}`);

/** Decides, one after the other, what is renamed. */
export const renameChoices: fc.Arbitrary<readonly number[]> = fc.array(fc.nat(11), { minLength: 40, maxLength: 40 });

type Names = ReadonlyMap<string, string>;

/** What is not renamed has no entry. */
function renamings(names: readonly string[], pool: readonly string[], choose: () => number): Names {
  const free = pool.filter((name) => !names.includes(name));
  return new Map(
    names.flatMap((name) => {
      const choice = choose();
      const [to] = choice % 2 === 0 ? free.splice(choice % Math.max(1, free.length), 1) : [];
      return to === undefined ? [] : [[name, to] as const];
    }),
  );
}

const nameOf = (names: Names | undefined, name: string): string => names?.get(name) ?? name;

/** Conditions name fields, and may compare one with another: `{ from: { lt: { field: to } } }`. */
const conditions = (all: ConditionsDescriptor, names: Names | undefined): ConditionsDescriptor =>
  Object.fromEntries(
    Object.entries(all).map(([name, operators]) => [
      nameOf(names, name),
      Object.fromEntries(
        Object.entries(isObject(operators) ? operators : {}).map(([operator, value]) => [
          operator,
          isObject(value) ? { field: nameOf(names, String(value['field'])) } : value,
        ]),
      ),
    ]),
  );

export function renamedSchema(schema: readonly Descriptor[], choices: readonly number[]): readonly Descriptor[] {
  let at = 0;
  const choose = (): number => choices[(at += 1) % choices.length] ?? 0;
  const types = renamings(
    schema.map(({ type }) => type),
    TYPES,
    choose,
  );
  const members = new Map(
    schema.map(({ type, fields = {}, relations = {} }) => [
      type,
      new Map([
        ...renamings(Object.keys(fields), FIELDS, choose),
        ...renamings(Object.keys(relations), RELATIONS, choose),
      ]),
    ]),
  );
  const former = (names: Names | undefined, name: string) => (names?.has(name) ? { renamedFrom: name } : {});
  return schema.map((descriptor) => {
    const {
      type,
      fields = {},
      relations = {},
      order = [],
      unique = [],
      checks = [],
      identifier,
      renamedFrom: _,
      ...rest
    } = descriptor;
    const own = members.get(type);
    return {
      ...rest,
      type: nameOf(types, type),
      ...former(types, type),
      identifier: choose() % 3 === 0 ? { name: `key${choose()}` } : { ...identifier },
      order: order.map((term) => term.replace(/^\w+/, (name) => nameOf(own, name))),
      ...(descriptor.label === undefined ? {} : { label: nameOf(own, descriptor.label) }),
      unique: unique.map((names) => names.map((name) => nameOf(own, name))),
      checks: checks.map(({ must, when, ...check }) => ({
        ...check,
        must: conditions(must, own),
        ...(when ? { when: conditions(when, own) } : {}),
      })),
      fields: Object.fromEntries(
        Object.entries(fields).map(([name, { renamedFrom: __, ...field }]) => [
          nameOf(own, name),
          { ...field, ...former(own, name) },
        ]),
      ),
      relations: Object.fromEntries(
        Object.entries(relations).map(([name, { renamedFrom: __, ...relation }]) => [
          nameOf(own, name),
          {
            ...relation,
            type: nameOf(types, relation.type),
            ...(relation.inverse === undefined
              ? {}
              : { inverse: nameOf(members.get(relation.type), relation.inverse) }),
            ...former(own, name),
          },
        ]),
      ),
    };
  });
}
