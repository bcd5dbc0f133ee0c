/** A related record, by its name; a link, where it has a page of its own. */
import Link from '@mui/material/Link';
import type { ReactNode } from 'react';
import { Link as RouterLink } from 'react-router-dom';
import { isValueObject, type Value } from '../data/json.ts';
import { can, identifierOf, nameOf, type RelationInfo, typeNamed, useModel } from '../data/model.ts';
import { Quiet } from '../presentations/shown.tsx';
import { useText } from '../texts/texts.ts';

interface RelatedProps {
  readonly relation: RelationInfo;
  readonly value: Value | undefined;
  readonly isLinked?: boolean;
}

export function Related({ relation, value, isLinked = true }: RelatedProps): ReactNode {
  const say = useText();
  const model = useModel();
  if (value === undefined) return undefined;
  if (!isValueObject(value)) return <Quiet text="–" label={say('value.null')} />;
  const type = typeNamed(model, relation.type);
  const name = <bdi>{nameOf(type, value, relation.label)}</bdi>;
  if (!isLinked || !can(type, 'get')) return name;
  return (
    <Link component={RouterLink} to={`/${type.path}/${encodeURIComponent(identifierOf(type, value))}`}>
      {name}
    </Link>
  );
}
