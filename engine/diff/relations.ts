/** Compares the relations of two models. */
import type { Relation } from '../model/model.ts';
import { compareTitles, pairUp, type Report, type TypePair } from './change.ts';

export function compareRelations({ before, after }: TypePair, report: Report, sameType: SameType): void {
  const { kept, added, removed } = pairUp(before.relations, after.relations);
  for (const one of kept) compareRelation(one.before, one.after, report, sameType);
  for (const { name, required } of added) {
    if (required) report('required-relation-added', name, 'create needs this new relation');
    else report('relation-added', name, 'new');
  }
  for (const { name } of removed) report('relation-removed', name, 'no longer returned or accepted');
}

/** Whether two names, before and after the change, refer to the same type. */
type SameType = (before: string, after: string) => boolean;

function compareRelation(before: Relation, after: Relation, report: Report, sameType: SameType): void {
  const { name } = after;
  if (before.name !== name) report('relation-renamed', name, `was "${before.name}"`);
  else compareTitles([before.title], [after.title], name, report);
  if (before.toMany !== after.toMany)
    report('relation-kind-changed', name, after.toMany ? 'was one record, is a set' : 'was a set, is one record');
  if (!sameType(before.target.name, after.target.name))
    report('relation-type-changed', name, `was ${before.target.name}, is ${after.target.name}`);
  if (!before.required && after.required) report('relation-required', name, 'every record now needs it');
  if (before.required && !after.required) report('relation-optional', name, 'responses may now contain null');
  compareNested(before, after, report);
  compareShown(before, after, report);
  compareDeletion(before, after, report);
  if (!isAcyclic(before) && isAcyclic(after)) report('cycles-refused', name, 'no record can be above itself now');
  if (isAcyclic(before) && !isAcyclic(after)) report('cycles-accepted', name, 'a record can be above itself now');
}

const isAcyclic = ({ link }: Relation): boolean => link.at !== 'join' && link.reference.acyclic;

function compareNested(before: Relation, after: Relation, report: Report): void {
  if (before.nested === after.nested) return;
  if (after.nested === 'link')
    report('relation-link-only', after.name, 'bodies can now only link related records here');
  else report('relation-writable', after.name, 'bodies can now create and change related records here');
}

/** Leaves out fields that the related type itself lost or gained: they are reported there. */
function compareShown(before: Relation, after: Relation, report: Report): void {
  const [was, is] = [new Set(before.fields.map(({ name }) => name)), new Set(after.fields.map(({ name }) => name))];
  const less = [...was].filter((name) => !is.has(name) && after.target.fields.has(name));
  const more = [...is].filter((name) => !was.has(name) && before.target.fields.has(name));
  if (less.length > 0) report('relation-shows-less', after.name, `no longer shows ${less.join(', ')}`);
  if (more.length > 0) report('relation-shows-more', after.name, `now shows ${more.join(', ')}`);
  if (before.shown === after.shown) return;
  if (after.shown) report('relation-shown', after.name, 'responses now contain it by default');
  else report('relation-not-shown', after.name, 'responses contain it only if include or fields names it');
}

function compareDeletion(before: Relation, after: Relation, report: Report): void {
  if (before.owned !== after.owned)
    report(
      'ownership-changed',
      after.name,
      after.owned ? 'records left out are now deleted' : 'records left out are no longer deleted',
    );
  const [was, is] = [deletionOf(before), deletionOf(after)];
  if (was !== undefined && is !== undefined && was !== is && before.owned === after.owned)
    report('deletion-changed', after.name, `when the related record is deleted: was ${was}, is ${is}`);
}

const deletionOf = ({ link }: Relation): string | undefined =>
  link.at === 'source' ? link.reference.onDelete : undefined;
