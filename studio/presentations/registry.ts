/** The presentations of values, one file for each or for a few that are alike. A new one: a name in choose.ts, and a line here. */
import type { FieldInfo } from '../data/model.ts';
import { presentationName, type PresentationName } from './choose.ts';
import { choice, flag } from './choice.tsx';
import { json } from './json.tsx';
import { list } from './list.tsx';
import { number } from './number.tsx';
import { color, image, markdown } from './pictures.tsx';
import type { Presentation } from './presentation.ts';
import { link, text } from './text.tsx';
import { date, seconds, timestamp } from './time.tsx';

const PRESENTATIONS: Readonly<Record<PresentationName, Presentation>> = {
  text,
  link,
  choice,
  flag,
  number,
  date,
  timestamp,
  seconds,
  image,
  color,
  markdown,
  list,
  json,
};

export const presentationOf = (field: FieldInfo): Presentation => PRESENTATIONS[presentationName(field)];
