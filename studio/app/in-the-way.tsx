/** The records that are in the way of a request, as links. */
import Link from '@mui/material/Link';
import { Link as RouterLink } from 'react-router-dom';
import { can, recordPath, useModel } from '../data/model.ts';
import { problemOf } from '../data/problem.ts';
import { useText } from '../texts/texts.ts';

export function InTheWay({ error }: { readonly error: unknown }) {
  const say = useText();
  const { types } = useModel();
  const records = problemOf(error).errors.flatMap((fault) => fault.records);
  const links = records.flatMap(({ type: name, identifier }): readonly [string, string][] => {
    const type = types.get(name);
    return type !== undefined && can(type, 'get')
      ? [[recordPath(type, identifier), `${type.title.one} ${identifier}`]]
      : [];
  });
  return [...new Map(links)].map(([path, name]) => (
    <div key={path}>
      {/* What was typed stays in this tab. Its opener gives the new one the token. */}
      <Link component={RouterLink} to={path} target="_blank" rel="opener" color="inherit">
        {say('form.in_the_way', { name })}
      </Link>
    </div>
  ));
}
