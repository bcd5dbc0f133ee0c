/** The work on the shipped types: content images with their 12 fields, shipping markups with their two relations. */
import { json, plain, rowOf, type Work } from '../work.ts';
import { amountsOf, imageOf, methodIdOf, methodOf, zoneIdOf, zoneOf } from './records.ts';

const IMAGES = '/api/content-images';

const listOfImages = (limit: number): Work => ({
  ...plain,
  name: `list ${limit} images`,
  request: ({ query }) => ({ method: 'GET', path: `${IMAGES}?${query({ offset: 0, limit })}` }),
  expected: () => json(Array.from({ length: limit }, (_, index) => imageOf(index + 1))),
});

export const shippedWork: readonly Work[] = [
  {
    ...plain,
    name: 'get image',
    request: (_, n, { rows }) => ({ method: 'GET', path: `${IMAGES}/${rowOf(n, rows)}` }),
    expected: (n, { rows }) => json(imageOf(rowOf(n, rows))),
  },
  {
    ...plain,
    name: 'get markup with method and zone',
    relations: true,
    request: (_, n, { rows }) => ({ method: 'GET', path: `/api/shipping-markups/${rowOf(n, rows)}` }),
    expected: (n, { rows }) => {
      const id = rowOf(n, rows);
      return json({ ...amountsOf(id), shipping_method: methodOf(methodIdOf(id)), zone: zoneOf(zoneIdOf(id)) });
    },
  },
  listOfImages(20),
  listOfImages(100),
  {
    ...plain,
    name: 'create image',
    status: [201],
    request: (_, n) => ({ method: 'POST', path: IMAGES, body: madeImage(n) }),
    expected: (n) => json(madeImage(n)),
  },
];

function madeImage(n: number) {
  const { id: _, ...fields } = imageOf(n);
  return fields;
}
