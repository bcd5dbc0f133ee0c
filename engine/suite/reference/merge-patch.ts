/** RFC 7396, written from its pseudocode. */
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';

export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch;
  const merged: Record<string, JsonValue> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged satisfies JsonObject;
}
