/** The side effects of a deletion in words, and the records that prevent it, with links to them. */
import { Alert, Link } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { Link as RouterLink } from 'react-router-dom';
import { isValueList, isValueObject, textOf, type Value } from '../data/json.ts';
import { InTheWay } from '../app/in-the-way.tsx';
import { listSearch } from '../data/address.ts';
import { type StudioModel, type TypeInfo, useModel } from '../data/model.ts';
import { send } from '../data/request.ts';
import { textOfWhere } from '../data/where.ts';
import { numberText, type Say, useText } from '../texts/texts.ts';
import { holders, type Use } from './uses.ts';

/** An effect on records of a type, and their number. */
export interface Effect {
  readonly type: string;
  readonly isDeleted: boolean;
  readonly count: number;
}

export const effectsIn = (body: Value): readonly Effect[] => {
  const list = isValueObject(body) ? body['effects'] : null;
  return (isValueList(list) ? list : []).filter(isValueObject).map(({ type = null, effect = null, count = null }) => ({
    type: textOf(type),
    isDeleted: effect === 'deleted',
    count: Number(textOf(count)),
  }));
};

/** `effects` without what was asked for: the records of the type itself. */
export function Effects({ effects }: { readonly effects: readonly Effect[] }) {
  const say = useText();
  const model = useModel();
  return effects.map((effect, index) => (
    // Two effects may be told in the same words.
    // oxlint-disable-next-line react/no-array-index-key
    <Alert severity="warning" key={index} sx={{ mt: 1 }}>
      {effectText(say, model, effect)}
    </Alert>
  ));
}

function effectText(say: Say, { types }: StudioModel, { type, isDeleted, count }: Effect): string {
  const title = types.get(type)?.title;
  const what = (count === 1 ? title?.one : title?.many) ?? type;
  return say(isDeleted ? 'many.also_deleted' : 'many.also_changed', { what, count: numberText(count) });
}

/** Records of listed types that refer to this one, by themselves or by a record within them. */
async function usesOf(
  model: StudioModel,
  type: TypeInfo,
  id: string,
  signal: AbortSignal,
): Promise<readonly (Use & { readonly count: number })[]> {
  const referring = [...model.types.values()].flatMap((one) =>
    one.relations
      .filter(
        (relation) => relation.kind === 'belongsTo' && relation.type === type.type && relation.operators.length > 0,
      )
      .flatMap(({ name }) => holders(model, one, name, id)),
  );
  const counted = await Promise.all(
    referring.map(async (one) => {
      const target = `${one.type.path}/$summary?${textOfWhere(one.where)}`;
      const { body } = await send({ method: 'GET', target }, signal);
      const [group] = isValueList(body) ? body : [];
      const measures = isValueObject(group) ? group['measures'] : null;
      return { ...one, count: Number(isValueObject(measures) ? textOf(measures['count']) : 0) };
    }),
  );
  return counted.filter(({ count }) => count > 0);
}

interface UsesProps {
  readonly type: TypeInfo;
  readonly id: string;
  /** The refusal, which names some of the records. */
  readonly error: unknown;
}

/** "Used by 91 products and 1 hub", each as a link to the list of them; where there is no such list, the records. */
export function Uses({ type, id, error }: UsesProps) {
  const say = useText();
  const model = useModel();
  const { data: uses } = useQuery({
    queryKey: [type.path, 'uses', id],
    queryFn: ({ signal }) => usesOf(model, type, id, signal),
    gcTime: 0,
  });
  if (uses === undefined) return undefined;
  if (uses.length === 0) return <InTheWay error={error} />;
  return (
    <Alert severity="error" sx={{ mt: 1 }}>
      {say('record.used_by')}{' '}
      {uses.map(({ type: user, where, count }) => (
        <div key={`${user.type} ${textOfWhere(where)}`}>
          <Link component={RouterLink} to={`/${user.path}${listSearch(textOfWhere(where))}`} color="inherit">
            {numberText(count)} {count === 1 ? user.title.one : user.title.many}
          </Link>
        </div>
      ))}
    </Alert>
  );
}
