/** Styles for writing from right to left: a plugin of stylis that mirrors what Material UI writes for the other direction. */
import type { StylisPlugin } from '@emotion/cache';

/** `left` and `right` change places, in properties and in values that name a side. */
const swapped = (text: string): string =>
  text.replaceAll(/\b(left|right)\b/gi, (side) => (side.toLowerCase() === 'left' ? 'right' : 'left'));

const SIDES = /^(?:margin|padding|border-width|border-style|border-color|inset)$/;
const SIDED_VALUES = /^(?:text-align|float|clear|transform-origin|justify-content|transition|transition-property)$/;
/** Commas and spaces, but not those within brackets. */
const WORDS = /[^\s()]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?/g;

/** Top, right, bottom, left. */
function mirroredSides(value: string): string {
  const [top, right, bottom, left, ...more] = value.match(WORDS) ?? [];
  return left === undefined || more.length > 0 ? value : `${top} ${left} ${bottom} ${right}`;
}

/** Top left, top right, bottom right, bottom left. */
function mirroredCorners(value: string): string {
  const [first, second, third, fourth, ...more] = value.match(WORDS) ?? [];
  if (second === undefined || more.length > 0 || value.includes('/')) return value;
  return fourth === undefined
    ? `${second} ${first} ${second} ${third ?? first}`
    : `${second} ${first} ${fourth} ${third}`;
}

/** A move to the right becomes a move to the left. */
const mirroredTransform = (value: string): string =>
  value.replaceAll(/(translate(?:X|3d)?\(\s*)(-?)([\d.]+)/gi, (_, start: string, sign: string, distance: string) =>
    [start, sign === '' && Number(distance) !== 0 ? '-' : '', distance].join(''),
  );

export function mirrored(property: string, value: string): readonly [property: string, value: string] {
  if (SIDES.test(property)) return [property, mirroredSides(value)];
  if (property === 'border-radius') return [property, mirroredCorners(value)];
  if (property === 'transform') return [property, mirroredTransform(value)];
  return [swapped(property), SIDED_VALUES.test(property) ? swapped(value) : value];
}

export const mirror: StylisPlugin = (element) => {
  if (element.type !== 'decl' || typeof element.props !== 'string' || typeof element.children !== 'string') return;
  const [property, value] = mirrored(element.props, element.children);
  // Stylis writes this instead of what it has read.
  element.return = `${property}:${value};`;
};
