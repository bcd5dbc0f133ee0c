/** A view that reaches more records than one answer may hold, made of few: each of them is related to all. */
import { MAX_DEEP_RECORDS, type Relation } from '../../model/model.ts';
import { collectionPath, itemPath, linkTo } from '../addresses.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { doors, withBody } from '../doors.ts';
import { obtain, smallBody } from '../obtain.ts';
import { cnd, idText, parameter } from '../query-text.ts';
import { get, post } from '../requests.ts';
import { refused } from '../scenario.ts';

const GROUP = 'views';

/** So many records, times themselves, are one too many. */
const COUNT = Math.floor(Math.sqrt(MAX_DEEP_RECORDS)) + 1;

/** A link to one record that shows who else links it. */
const isShared = ({ link, inverse, target }: Relation): boolean =>
  link.at === 'source' && inverse !== undefined && inverse.toMany && target.identifier.inRecord;

export function breadth(context: Context): readonly Case[] {
  const { type } = context;
  const relation = [...type.relations.values()].find(isShared);
  const inverse = relation?.inverse;
  if (!type.operations.has('create') || !type.identifier.inRecord || !relation || !inverse) return [];
  const wide = `${relation.name}.${inverse.name}`;
  const title = `${collectionPath(type)}?include=${wide} of ${COUNT} records that are all related`;
  return caseOf(context, GROUP, title, (scenario) => {
    const shared = obtain(scenario, relation.target);
    const body = () => ({ ...smallBody(scenario, type), [relation.name]: linkTo(relation.target, shared) });
    const ids = Array.from({ length: COUNT }, () => post(scenario, type, body()));
    const [id = ''] = ids;
    const linked = `${cnd(relation.name)}=${idText(shared)}`;
    for (const door of doors(type)) {
      const listing = door.method === 'GET' && door.path === collectionPath(type);
      // One record reaches as many of them by going there and back once more.
      const query = listing ? [linked, parameter('include', wide)] : [parameter('include', `${wide}.${wide}`)];
      const path = door.path === collectionPath(type) ? collectionPath(type, query) : itemPath(type, id, query);
      const request = door.method === 'POST' ? { ...door, body: body() } : withBody(door);
      refused(scenario, { ...request, path }, 400, { code: 'too-many-related', parameters: ['include'] });
    }
    get(scenario, type, id);
  });
}
