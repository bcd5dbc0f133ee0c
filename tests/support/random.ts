/** Numbers that look random, and are the same for the same seed. */
import type { Draw } from '../oracle/random-operations.ts';

export function randomOf(seed: number): Draw {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}
