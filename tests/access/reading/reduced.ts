/** The descriptors of a service without roles that knows only what a role sees. */
import type { Descriptor } from '../../../engine/descriptor/descriptor.ts';
import type { RecordType } from '../../../engine/model/model.ts';
import type { Seen } from './drawn-role.ts';

const without = <T>(members: Readonly<Record<string, T>>, isKept: (name: string, member: T) => boolean) =>
  Object.fromEntries(Object.entries(members).filter(([name, member]) => isKept(name, member)));

export function reduce(descriptors: readonly Descriptor[], seen: ReadonlyMap<RecordType, Seen>): readonly Descriptor[] {
  const hidden = new Map([...seen].map(([type, one]) => [type.name, one.hidden]));
  return descriptors.flatMap((descriptor) => {
    const own = hidden.get(descriptor.type);
    if (own === undefined) return [];
    const shows = (name: string): boolean => !own.has(name.split(' ')[0] ?? '');
    const { label, ...rest } = descriptor;
    const relations = without(descriptor.relations ?? {}, (name, { type }) => shows(name) && hidden.has(type));
    const names = new Set([...Object.keys(descriptor.fields ?? {}).filter(shows), ...Object.keys(relations)]);
    const withoutLost = Object.entries(relations).map(([name, relation]) => {
      const { inverse, ...others } = relation;
      const isLost = inverse === undefined || hidden.get(relation.type)?.has(inverse);
      return [name, isLost ? others : relation] as const;
    });
    return [
      {
        ...rest,
        ...(label !== undefined && typeof label === 'string' && shows(label) ? { label } : {}),
        order: (descriptor.order ?? []).filter(shows),
        unique: (descriptor.unique ?? []).filter((members) => members.every((name) => names.has(name))),
        fields: without(descriptor.fields ?? {}, shows),
        relations: Object.fromEntries(withoutLost),
      },
    ];
  });
}
