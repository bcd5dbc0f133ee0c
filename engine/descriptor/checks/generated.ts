/** Fields that the service fills in: nothing in the descriptor may say how requests set them. */
import { isObject } from '../../json.ts';
import { comparisonsIn } from '../conditions.ts';
import { shapeOf } from '../defaults.ts';
import type { FieldDraft, TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../report.ts';
import type { At, YamlPath } from '../source.ts';
import { repeated, type TypeCheck } from './check.ts';

export const checkGenerated: TypeCheck = (type) => [
  ...[...type.fields].flatMap(([name, field]) =>
    isGenerated(field) ? wordsAgainst(field).map(([word, why]) => against(name, ['fields', name, word], why)) : [],
  ),
  ...checkTwice(type),
  ...checkGroups(type),
  ...checkRules(type),
];

const isGenerated = ({ generated }: FieldDraft = {}): boolean => generated !== undefined;

const against = (name: string, path: YamlPath, why: string, at: At = 'value'): Finding =>
  finding('generated-conflict', path, at, `${quoted(name)} is generated: ${why}`);

/** The words of a field that are about values in requests. */
function wordsAgainst(field: FieldDraft): readonly (readonly [word: string, why: string])[] {
  const { required, readOnly, unique, nullable, default: fallback } = field;
  const constraints = Object.keys(shapeOf(field).constraints);
  const rows: readonly (readonly [boolean, string, string])[] = [
    [required === true, 'required', 'requests cannot set it, so create cannot require it; remove "required"'],
    [fallback !== undefined, 'default', 'the service always fills it in; remove "default"'],
    [readOnly === true, 'readOnly', 'bodies may hold any value of it, which is ignored; remove "readOnly"'],
    [unique === true, 'unique', 'no request could resolve a conflict; remove "unique"'],
    [nullable === false, 'nullable', 'records that were there before the field have null; remove "nullable"'],
    ...constraints.map((word) => [true, word, `the service decides what it holds; remove "${word}"`] as const),
  ];
  return rows.flatMap(([isFaulty, word, why]) => (isFaulty ? [[word, why] as const] : []));
}

function checkTwice({ fields }: TypeDraft): readonly Finding[] {
  const generated = [...fields].flatMap(([name, field]) => (isGenerated(field) ? [[name, field.generated]] : []));
  const words = generated.map(([, word]) => word);
  return repeated(words).map((index) => {
    const [name = '', word] = generated[index] ?? [];
    const [first] = generated[words.indexOf(word)] ?? [];
    const message = `${quoted(first)} is ${quoted(word)} already; one field of a type is enough`;
    return finding('duplicate-generated', ['fields', name, 'generated'], 'value', message);
  });
}

const checkGroups = ({ draft, fields }: TypeDraft): readonly Finding[] =>
  (draft.unique ?? []).flatMap((names, group) =>
    names.flatMap((name, index) =>
      isGenerated(fields.get(name))
        ? [against(name, ['unique', group, index], 'no request could resolve a conflict; leave it out of the group')]
        : [],
    ),
  );

const checkRules = ({ draft, fields }: TypeDraft): readonly Finding[] =>
  (draft.checks ?? []).flatMap((check, index) =>
    (['must', 'when'] as const).flatMap((part) => {
      const conditions = check[part];
      if (!isObject(conditions)) return [];
      return comparisonsIn(conditions).flatMap(({ field, other, place, path }) => {
        const why = 'no request could correct it; compare other fields';
        return [
          ...(isGenerated(fields.get(field)) ? [against(field, ['checks', index, part, ...place], why, 'key')] : []),
          ...(isGenerated(fields.get(other ?? ''))
            ? [against(other ?? '', ['checks', index, part, ...path], why)]
            : []),
        ];
      });
    }),
  );
