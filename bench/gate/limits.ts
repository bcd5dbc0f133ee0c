/** What a request may cost this engine at most, as a multiple of what it costs the server by hand that is measured beside it. */
export const REFERENCE = 'node';

/** 1.6 times what it is: noise does not reach that far, and a doubling goes beyond. */
export const limits: Readonly<Record<string, number>> = {
  get: 1.5,
  'get with relations': 1,
  'list 20': 0.9,
  'list 100': 0.85,
  update: 0.75,
  create: 0.9,
  'nested create': 0.9,
};
