/** Which way the layout goes: that of the language, unless most titles of the descriptors are written from right to left. */
import type { StudioModel } from '../data/model.ts';

export type Direction = 'ltr' | 'rtl';

/** The first letter decides. */
const RIGHT_TO_LEFT = /^\P{L}*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

export function directionOf(language: Direction, model: StudioModel | undefined): Direction {
  const titles = [...(model?.types.values() ?? [])].map(({ title }) => title.many);
  const turned = titles.filter((title) => RIGHT_TO_LEFT.test(title));
  return turned.length * 2 > titles.length ? 'rtl' : language;
}
