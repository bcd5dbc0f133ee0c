/**
 * Eight tasks that people have, and what each may cost: clicks, and keys besides the text that has to be typed anyway. They
 * were written down before the studio was built for them. A journey in Chromium counts both.
 */
interface Task {
  readonly from: string;
  readonly clicks: number;
  readonly keys: number;
}

export const TASKS = {
  'find a record by half a word': { from: 'any page', clicks: 0, keys: 6 },
  'see who buys most': { from: 'the overview', clicks: 2, keys: 0 },
  'correct the countries of a zone': { from: 'the list of markups', clicks: 4, keys: 0 },
  'change the product of an order line': { from: 'the list of orders', clicks: 5, keys: 4 },
  'duplicate a markup for another zone': { from: 'the list of markups', clicks: 5, keys: 0 },
  'compare two months': { from: 'the overview', clicks: 1, keys: 0 },
  'answer a conflict': { from: 'the form with the change', clicks: 3, keys: 0 },
  // At five keys a second, 120 keys take 24 of the 40 seconds that an order may take.
  'take an order of three lines by SKU': { from: 'the list of orders', clicks: 0, keys: 120 },
  'correct a city in 40 records': { from: 'the list that is filtered by it', clicks: 5, keys: 8 },
  'open my open orders': { from: 'the overview', clicks: 1, keys: 0 },
  'change three prices in a workbook': { from: 'the list of products', clicks: 8, keys: 0 },
  'find a record by half a word, on a phone': { from: 'any page', clicks: 2, keys: 4 },
} as const satisfies Readonly<Record<string, Task>>;
