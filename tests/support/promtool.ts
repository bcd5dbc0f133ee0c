/** What Prometheus itself says of metrics that it is to read. */
import { spawnSync } from 'node:child_process';

const isThere = spawnSync('which', ['promtool']).status === 0;

/** Skipped in words where it is not there. */
export const promtoolIsSilent = (metrics: () => Promise<string>): void =>
  (isThere ? test : test.skip)(
    `promtool check metrics is silent${isThere ? '' : ', skipped without it: .ci/install prometheus'}`,
    async () => {
      const said = spawnSync('promtool', ['check', 'metrics'], { input: await metrics(), encoding: 'utf8' });
      expect([said.status, said.stdout, said.stderr]).toEqual([0, '', '']);
    },
  );
