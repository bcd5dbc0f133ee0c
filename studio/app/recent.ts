/** Records that were opened in this tab, the last one first. They are forgotten when it is closed or left. */
export interface Recent {
  readonly path: string;
  readonly id: string;
  readonly name: string;
}

const MOST = 8;
let records: readonly Recent[] = [];

export const recentRecords = (): readonly Recent[] => records;

export function keepRecent(record: Recent): void {
  records = [record, ...records.filter(({ path, id }) => path !== record.path || id !== record.id)].slice(0, MOST);
}

export const forgetRecent = (): void => void (records = []);
