/** What changed relations mean for clients. */
import type { Relation } from '../model/model.ts';
import type { Report, TypePair } from './change.ts';
import { pairUp } from './members.ts';

export function compareRelations({ before, after }: TypePair, report: Report, sameType: SameType): void {
  const { kept, added, removed } = pairUp(before.relations, after.relations);
  for (const one of kept) compareRelation(one.before, one.after, report, sameType);
  for (const { name, required } of added) {
    if (required) report('required-relation-added', name, 'create needs this new relation');
    else report('relation-added', name, 'new');
  }
  for (const { name } of removed) report('relation-removed', name, 'neither answered nor accepted any more');
}

/** Whether the type that a name stood for is the one that another name stands for now. */
export type SameType = (before: string, after: string) => boolean;

function compareRelation(before: Relation, after: Relation, report: Report, sameType: SameType): void {
  const { name } = after;
  if (before.name !== name) report('relation-renamed', name, `was "${before.name}"`);
  if (before.toMany !== after.toMany)
    report('relation-kind-changed', name, after.toMany ? 'was one record, is a set' : 'was a set, is one record');
  if (!sameType(before.target.name, after.target.name))
    report('relation-type-changed', name, `was ${before.target.name}, is ${after.target.name}`);
  if (!before.required && after.required) report('relation-required', name, 'no record can be without it any more');
  if (before.required && !after.required) report('relation-optional', name, 'answers may hold null now');
  compareNested(before, after, report);
  compareShown(before, after, report);
  compareDeletion(before, after, report);
}

function compareNested(before: Relation, after: Relation, report: Report): void {
  if (before.nested === after.nested) return;
  if (after.nested === 'link') report('relation-link-only', after.name, 'bodies can only link here, no longer write');
  else report('relation-writable', after.name, 'bodies can create and change related records here');
}

/** Fields that the related type lost or gained are told there. */
function compareShown(before: Relation, after: Relation, report: Report): void {
  const [was, is] = [new Set(before.fields.map(({ name }) => name)), new Set(after.fields.map(({ name }) => name))];
  const less = [...was].filter((name) => !is.has(name) && after.target.fields.has(name));
  const more = [...is].filter((name) => !was.has(name) && before.target.fields.has(name));
  if (less.length > 0) report('relation-shows-less', after.name, `no longer with ${less.join(', ')}`);
  if (more.length > 0) report('relation-shows-more', after.name, `now with ${more.join(', ')}`);
  if (before.shown === after.shown) return;
  if (after.shown) report('relation-shown', after.name, 'answers have it now, whether asked or not');
  else report('relation-not-shown', after.name, 'answers have it only where include or fields names it');
}

function compareDeletion(before: Relation, after: Relation, report: Report): void {
  if (before.owned !== after.owned)
    report(
      'ownership-changed',
      after.name,
      after.owned ? 'what is left out is deleted now' : 'what is left out stays now',
    );
  const [was, is] = [deletionOf(before), deletionOf(after)];
  if (was !== undefined && is !== undefined && was !== is && before.owned === after.owned)
    report('deletion-changed', after.name, `when the related record is deleted: was ${was}, is ${is}`);
}

const deletionOf = ({ link }: Relation): string | undefined =>
  link.at === 'source' ? link.reference.onDelete : undefined;
