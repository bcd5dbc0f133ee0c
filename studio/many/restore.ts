/** Brings deleted records back, each with what was deleted with it. */
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'ra-core';
import { reasonOf } from '../app/fault-text.ts';
import { can, type TypeInfo, useModel } from '../data/model.ts';
import { send } from '../data/request.ts';
import { numberText, useText } from '../texts/texts.ts';

type Restore = (ids: readonly string[], name?: string, onRefused?: (problem: unknown) => void) => Promise<void>;

/** Undefined: whoever has this token cannot do it. `name`: of a single one. */
export function useRestore(type: TypeInfo): Restore | undefined {
  const say = useText();
  const model = useModel();
  const notify = useNotify();
  const queries = useQueryClient();
  if (!type.history || !can(type, 'create')) return undefined;
  const tell = (problem: unknown): void => notify(reasonOf(say, model, type, problem), { type: 'error' });
  return async (ids, name = numberText(ids.length), onRefused = tell) => {
    const headers = { Prefer: 'return=minimal' };
    try {
      for (const id of ids)
        await send({ method: 'POST', target: `${type.path}/${encodeURIComponent(id)}/$restore`, headers });
      notify(say('deleted.restored', { smart_count: ids.length, formatted: name }), { type: 'success' });
    } catch (problem) {
      onRefused(problem);
    }
    await queries.invalidateQueries();
  };
}
