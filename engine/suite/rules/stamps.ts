/** Generated fields: which writes stamp a record, and which do not. Bodies of all other cases hold other values of them. */
import type { Operation } from '../../descriptor/descriptor.ts';
import type { Field, RecordType, Relation } from '../../model/model.ts';
import { inRelation, isChangeable, fresh, fullest, obtain, smallest, targetsOf } from '../samples.ts';
import { get, post, put, puts, remove, type Scene, send, shownAs, WAYS } from '../scene.ts';
import { linkTo } from '../call.ts';
import { isStamped, timePasses } from '../stamps.ts';
import { parentOf, through } from './relations.ts';
import { each, offers, relations, rule, type Rule, table } from './rule.ts';

/** Requests that take longer than a millisecond, all together. */
const SOME = 20;

function waitIn(scene: Scene): void {
  for (let count = 0; count < SOME; count += 1) send(scene, { method: 'OPTIONS' });
  timePasses(scene.world);
}

const changeable = ({ defaultVariant }: RecordType): readonly Field[] => defaultVariant.fields.filter(isChangeable);

const stampedBy =
  (...operations: readonly Operation[]) =>
  (type: RecordType): boolean =>
    isStamped(type) && offers(...operations)(type);

const isGenerated = ({ generated }: Field): boolean => generated !== undefined;

/** Links to records of the type that are stored in its own rows. */
const links = (are: (relation: Relation) => boolean) =>
  relations((one) => one.link.at === 'source' && !one.required && one.target.identifier.inRecord && are(one));

export const stampRules: readonly Rule[] = table(
  'stamps',
  rule('a change is stamped, and nothing else', stampedBy('get', 'update'), (scene) => {
    const id = obtain(scene);
    for (const method of WAYS)
      for (const field of changeable(scene.type).slice(0, 2)) {
        const body = { [field.name]: fresh(scene, field) };
        waitIn(scene);
        puts(scene, id, [body, body, {}], [method]);
      }
    waitIn(scene);
    puts(scene, id, [shownAs(scene, id), { ...fullest(scene), ...shownAs(scene, id) }]);
  }),
  // Nothing of what is said of a stamp is written: copies of a record in one body may differ in it.
  each(
    'given once more through {}, with other stamps',
    stampedBy('create', 'get', 'update'),
    relations(
      ({ source, target, inverse }) =>
        source.identifier.inRecord && target.identifier.inRecord && inverse?.fields.some(isGenerated) === true,
    ),
    (scene, relation) => {
      const id = parentOf(scene, relation);
      const [first] = targetsOf(scene, relation, id);
      const field = relation.inverse?.fields.find(isGenerated);
      if (first === undefined || field === undefined) return;
      const [one, other] = [1, 2].map((seed) => ({ [field.name]: field.type.good(field, seed) }));
      puts(scene, id, [{ ...one, [relation.name]: through(scene.type, relation, id, first, other ?? {}) }], WAYS);
    },
  ),
  each(
    'a link that is set, kept and cut: {}',
    stampedBy('create', 'get', 'update'),
    links(() => true),
    (scene, { name, target }) => {
      const other = obtain(scene, target);
      const id = post(scene, smallest(scene));
      for (const value of [linkTo(target, other), linkTo(target, other), null]) {
        waitIn(scene);
        puts(scene, id, [{ [name]: value }]);
      }
    },
  ),
  each(
    'a link that the other side cuts: {}',
    stampedBy('create', 'get'),
    links(({ inverse, target }) => inverse?.toMany === true && !inverse.owned && offers('update')(target)),
    (scene, { name, inverse, target }) => {
      if (inverse === undefined) return;
      const other = obtain(scene, target);
      const [first, second] = [1, 2].map(() => post(scene, { ...smallest(scene), [name]: linkTo(target, other) }));
      waitIn(scene);
      put(scene, other, { [inverse.name]: inRelation(inverse, linkTo(scene.type, first ?? '')) }, { type: target });
      for (const id of [first, second]) if (id !== undefined) get(scene, id);
    },
  ),
  each(
    'a link to a record that is deleted: {}',
    stampedBy('create', 'get'),
    links(
      ({ link, target }) => link.at === 'source' && link.reference.onDelete === 'setNull' && offers('delete')(target),
    ),
    (scene, { name, target }) => {
      const other = obtain(scene, target);
      const id = post(scene, { ...smallest(scene), [name]: linkTo(target, other) });
      waitIn(scene);
      remove(scene, other, { type: target });
      get(scene, id);
    },
  ),
);
