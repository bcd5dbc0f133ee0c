/** Faults of a body, as problems list them. */
import { inDocumentOrder } from '../../engine/json/document-order.ts';

test('at one place the first fault is told, and of checks all', () => {
  const fault = (pointer: string, code: string, message: string) => ({ pointer, code, message });
  const [low, high, other] = [fault('/a', 'check', 'low'), fault('/a', 'check', 'high'), fault('/c', 'check', 'other')];
  const type = fault('/b', 'type', 'wrong');
  const found = inDocumentOrder([low, other, type, high, fault('/b', 'check', 'unheard')], { b: 1, a: 2, c: 3 });
  expect(found).toEqual([type, low, high, other]);
});
