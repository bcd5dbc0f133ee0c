/** A value on a line: of a field, or of a relation to one record. */
import type { ReactNode } from 'react';
import type { Value, ValueObject } from '../data/json.ts';
import type { FieldInfo, RelationInfo } from '../data/model.ts';
import { Shown } from '../presentations/shown.tsx';
import { Related } from './related.tsx';

/** A field, or a relation to one record. */
export type Member = { readonly name: string; readonly title: string } & (
  | { readonly field: FieldInfo; readonly relation?: never }
  | { readonly relation: RelationInfo; readonly field?: never }
);

interface MemberValueProps {
  readonly member: Member;
  readonly value: Value | undefined;
  readonly record?: ValueObject;
}

export const MemberValue = ({ member, value = null, record = {} }: MemberValueProps): ReactNode =>
  member.field ? (
    <Shown field={member.field} value={value} record={record} isShort />
  ) : (
    <Related relation={member.relation} value={value} isLinked={false} />
  );
