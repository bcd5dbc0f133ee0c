/** One more YAML file in an otherwise untouched schema folder is one more record type, served and tested. No code. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conditionsOf } from '../../engine/suite/case.ts';
import { suiteOf } from '../../engine/suite/suite.ts';
import { loadModel } from '../support/model.ts';
import { type Bench, openBench, replayAll } from '../support/replaying.ts';

const REVIEW = `
type: Review
description: What a customer says of a tax class, of all things.
order: [stars desc, title]
fields:
  title: { type: string, required: true, minLength: 1, maxLength: 120 }
  stars: { type: integer, minimum: 1, maximum: 5, default: 3 }
  price: { type: decimal, precision: 12, scale: 2 }
  written: { type: date }
  slug: { type: string, unique: true, maxLength: 80 }
relations:
  taxClass: { kind: belongsTo, type: TaxClass, onDelete: setNull }
  comments: { kind: hasMany, type: ReviewComment, owned: true, inverse: review }
`;

const COMMENT = `
type: ReviewComment
operations: []
fields:
  text: { type: string }
relations:
  review: { kind: belongsTo, type: Review, inverse: comments }
`;

const directory = mkdtempSync(join(tmpdir(), 'ninth-'));
cpSync('schema', directory, { recursive: true });
writeFileSync(join(directory, 'review.yaml'), REVIEW);
writeFileSync(join(directory, 'related', 'review-comment.yaml'), COMMENT);

describe('a ninth type', () => {
  const model = loadModel(directory);
  const review = model.types.get('Review');
  const cases = review ? suiteOf(model, review).filter((one) => conditionsOf(one).length === 0) : [];
  let bench: Bench;

  beforeAll(async () => void (bench = await openBench(directory, model)));
  afterAll(async () => {
    await bench?.close();
    rmSync(directory, { recursive: true });
  });

  it('has a suite of its own', () => expect(cases.length).toBeGreaterThan(100));

  it.each(cases.map((one) => [`${one.title} (${one.group})`, one] as const))('%s', (_title, one) =>
    replayAll(bench, [one]),
  );
});
