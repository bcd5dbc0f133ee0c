/** What a request may cost this engine at most, as a multiple of what it costs the server by hand that is measured beside it. */
export const REFERENCE = 'node';

/** 1.6 times what it is: noise does not reach that far, and a doubling goes beyond. */
export const limits: Readonly<Record<string, number>> = {
  get: 1.6,
  'get with relations': 1.5,
  'list 20': 1.25,
  'list 100': 0.95,
  update: 0.9,
  create: 0.95,
  'nested create': 0.95,
};
