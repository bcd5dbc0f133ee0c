/** References inside of the document. */
import { isObject, type JsonObject, type JsonValue } from '../json.ts';

export type Section = 'schemas' | 'parameters' | 'headers' | 'responses' | 'requestBodies' | 'examples';

export type Components = Readonly<Record<Section, JsonObject>>;

export const ref = (section: Section, name: string): JsonObject => ({ $ref: `#/components/${section}/${name}` });

const REFERENCE = /^#\/components\/(\w+)\/([\w.-]+)$/;

/** The components that `root` needs, directly or through others: what nothing refers to is left out. */
export function needed(root: JsonValue, components: Components): JsonObject {
  const found = new Map<string, Set<string>>();
  const queue: JsonValue[] = [root];
  for (const value of queue) {
    if (Array.isArray(value)) queue.push(...value);
    if (!isObject(value)) continue;
    queue.push(...Object.values(value));
    const [, section = '', name = ''] = REFERENCE.exec(String(value['$ref'] ?? '')) ?? [];
    if (section === '' || found.get(section)?.has(name)) continue;
    found.set(section, (found.get(section) ?? new Set()).add(name));
    queue.push(component(components, section, name));
  }
  return kept(components, found);
}

function component(components: Components, section: string, name: string): JsonValue {
  const value = new Map(Object.entries(components)).get(section)?.[name];
  if (value === undefined) throw new Error(`the document has no component ${section}/${name}`);
  return value;
}

function kept(components: Components, found: ReadonlyMap<string, ReadonlySet<string>>): JsonObject {
  const sections = Object.entries(components).map(([section, all]) => {
    const entries = Object.entries(all).filter(([name]) => found.get(section)?.has(name));
    return [section, Object.fromEntries(entries)] as const;
  });
  return Object.fromEntries(sections.filter(([, entries]) => Object.keys(entries).length > 0));
}
