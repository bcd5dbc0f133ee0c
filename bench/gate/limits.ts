/** What a request may cost this engine at most, as a multiple of what it costs the server by hand that is measured beside it. */
export const REFERENCE = 'node';

/** 1.6 times what it is: noise does not reach that far, and a doubling goes beyond. */
export const limits: Readonly<Record<string, number>> = {
  get: 1.5,
  'get with relations': 0.7,
  'list 20': 1.4,
  'list 100': 1.5,
  update: 1.5,
  create: 1.45,
  'nested create': 1.1,
};
