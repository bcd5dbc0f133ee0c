/** The requests by which the operations of a type are reached: each gets past the router, and finds no record. */
import type { Operation } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { collectionPath, guard, itemPath, MISSING_ID } from './addresses.ts';
import type { Request } from './case.ts';

/** The methods of each operation. */
export const METHODS = {
  list: ['GET', 'HEAD'],
  create: ['POST'],
  get: ['GET', 'HEAD'],
  update: ['PUT', 'PATCH'],
  delete: ['DELETE'],
} as const satisfies Record<Operation, readonly string[]>;

export const COLLECTION = ['list', 'create'] as const;
export const ITEM = ['get', 'update', 'delete'] as const;

const onCollection = (operation: Operation): boolean => COLLECTION.some((one) => one === operation);

/** Without HEAD, which says the same as GET. */
export const doors = (type: RecordType): readonly Request[] =>
  [...type.operations].flatMap((operation) =>
    METHODS[operation]
      .filter((method) => method !== 'HEAD')
      .map((method) => ({
        method,
        path: onCollection(operation) ? collectionPath(type) : itemPath(type, MISSING_ID),
        ...guard(type),
      })),
  );

export const takesBody = ({ method }: Request): boolean => method.startsWith('P');

export const withBody = (request: Request): Request => (takesBody(request) ? { ...request, body: {} } : request);

export const withHeaders = (request: Request, headers: Readonly<Record<string, string>>): Request => ({
  ...request,
  headers: { ...request.headers, ...headers },
});

/** A request that only reads, where the type offers one. */
export const reading = (type: RecordType): Request | undefined => doors(type).find(({ method }) => method === 'GET');
