/** `npm run picture`: redraws the picture of README.md. */
import { writeFileSync } from 'node:fs';
import { drawPicture, PICTURE } from './picture.ts';
import { readScene } from './scene.ts';

void readScene().then((scene) => writeFileSync(PICTURE, drawPicture(scene)));
