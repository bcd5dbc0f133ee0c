/** Whether an answer is one that an OpenAPI document says: its status, headers, media type and body. */
import { isObject, type JsonObject, type JsonValue } from '../../../engine/json.ts';
import { schemasOf } from './schemas.ts';

export interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** Every point in which the answer is not what the document says; undefined where it has no such operation. */
export type Conformance = (exchange: Exchange) => readonly string[] | undefined;

export function conformanceTo(document: JsonObject): Conformance {
  const schemas = schemasOf(document);
  const templates = Object.keys(document['paths'] ?? {}).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

  function operationPath({ method, path }: Exchange): readonly string[] | undefined {
    const [name = ''] = path.split('?');
    const found = templates.find(({ pattern }) => pattern.test(name));
    const operation = found && ['paths', found.template, method.toLowerCase()];
    return operation && schemas.at(...operation) !== undefined ? operation : undefined;
  }

  function headerFaults(response: readonly string[], { headers }: Exchange): readonly string[] {
    const documented = schemas.at(...response, 'headers') ?? {};
    return Object.keys(documented).flatMap((name) => {
      const value = headers[name.toLowerCase()];
      const place = [...response, 'headers', name];
      if (value === undefined) return schemas.at(...place, 'required') === true ? [`header ${name} is missing`] : [];
      const isNumber = schemas.at(...place, 'schema', 'type') === 'integer';
      return schemas
        .faults(isNumber ? Number(value) : value, ...place, 'schema')
        .map((fault) => `header ${name}: ${fault}`);
    });
  }

  function bodyFaults(response: readonly string[], { headers, text }: Exchange): readonly string[] {
    const content = schemas.at(...response, 'content');
    if (!isObject(content)) return text === '' ? [] : ['a body that the document does not have'];
    const [type = ''] = (headers['content-type'] ?? '').split(';');
    if (content[type] === undefined) return [`media type "${type}" is not documented`];
    const value: unknown = type.endsWith('json') && !type.includes('ndjson') ? JSON.parse(text) : text;
    return schemas.faults(value, ...response, 'content', type, 'schema').map((fault) => `body: ${fault}`);
  }

  return (exchange) => {
    const operation = operationPath(exchange);
    if (operation === undefined) return undefined;
    const response = [...operation, 'responses', String(exchange.status)];
    if (schemas.at(...response) === undefined) return [`status ${exchange.status} is not documented`];
    return [...headerFaults(response, exchange), ...bodyFaults(response, exchange)];
  };
}

/** An operation of the document, in the order in which it stands there. */
export interface Documented {
  readonly method: string;
  readonly path: string;
  readonly operation: JsonObject;
}

export function operationsOf(document: JsonObject): readonly Documented[] {
  return Object.entries(document['paths'] ?? {}).flatMap(([path, item]) =>
    Object.entries<JsonValue>(item)
      .filter(([method]) => method !== 'parameters')
      .flatMap(([method, operation]) => (isObject(operation) ? [{ method, path, operation }] : [])),
  );
}
