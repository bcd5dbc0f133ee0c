/** Work that waits for a slot, and whose client leaves or may have left, does not begin. */
import { expect, test } from '@jest/globals';
import { CallerGone } from '../../engine/caller.ts';
import { createPlaces } from '../../engine/storage/places.ts';
import { leaving, settled } from '../support/leaving.ts';

const MINUTE = 60_000;

/** A client that has ended its side of the connection. */
const halfClosed = () => Object.assign(leaving(), { mayHaveLeft: true });

test('work does not begin if its client turns out to have left, and its slot is free again', async () => {
  const places = createPlaces({ places: 1, patience: MINUTE });
  const gone = leaving();
  const begun = settled(places.take(gone));
  const next = places.take(leaving());
  gone.leave();
  expect(await begun).toBeInstanceOf(CallerGone);
  await expect(next).resolves.toBeInstanceOf(Function);
});

test('nor does work that has waited in the queue', async () => {
  const places = createPlaces({ places: 1, patience: MINUTE });
  const leave = await places.take(leaving());
  const gone = leaving();
  const begun = settled(places.take(gone));
  const next = places.take(leaving());
  leave();
  gone.leave();
  expect(await begun).toBeInstanceOf(CallerGone);
  await expect(next).resolves.toBeInstanceOf(Function);
});

test('what has arrived from the client is read before its work begins', async () => {
  const places = createPlaces({ places: 1, patience: MINUTE });
  const gone = leaving();
  const begun = settled(places.take(gone));
  // The next turn of the event loop.
  setImmediate(() => gone.leave());
  expect(await begun).toBeInstanceOf(CallerGone);
});

test('a client that has ended its side is given time to leave, and is served if it stays', async () => {
  const places = createPlaces({ places: 2, patience: MINUTE, cautious: true });
  const [staying, gone] = [halfClosed(), halfClosed()];
  const [served, refused] = [places.take(staying), settled(places.take(gone))];
  await gone.watched;
  gone.leave();
  expect(await refused).toBeInstanceOf(CallerGone);
  await expect(served).resolves.toBeInstanceOf(Function);
});

test('work that has not begun does not begin once the service stops', async () => {
  const places = createPlaces({ places: 1, patience: MINUTE });
  const begun = places.take(leaving());
  places.close();
  await expect(begun).rejects.toMatchObject({ code: 'storage-busy', status: 503 });
});
