/** Processes beside the measuring one, on a core of their own, that answer one question after the other. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { pinned } from '../cores.ts';
import { atTheEnd } from '../leftovers.ts';

export interface Assistant<Question, Answer> {
  ask(question: Question): Promise<Answer>;
  stop(): Promise<void>;
}

type Reply<Answer> = { readonly answer: Answer } | { readonly error: string };

/** `niceness` above 0: it gives way to the others on its core. */
export function startAssistant<Question extends object, Answer>(
  program: string,
  core: number,
  niceness = 0,
): Assistant<Question, Answer> {
  const [command, ...args] = pinned([core], [process.execPath, program]);
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness);
  const ended = once(child, 'exit');
  void ended.then(atTheEnd(() => void child.kill('SIGKILL')));
  return {
    ask: async (question) => {
      child.send(question);
      const said = await Promise.race([once(child, 'message'), ended.then(() => undefined)]);
      if (said === undefined) throw new Error(`${program} ended without an answer`);
      const [reply] = said as [Reply<Answer>];
      if ('error' in reply) throw new Error(`${program} failed: ${reply.error}`);
      return reply.answer;
    },
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

/** What such a program is made of. */
export function assist<Question, Answer>(answer: (question: Question) => Promise<Answer>): void {
  const reply = (message: Reply<Answer>): void => void process.send?.(message);
  process.on('message', (question: Question) => {
    answer(question).then(
      (found) => reply({ answer: found }),
      (error: unknown) => reply({ error: String(error) }),
    );
  });
}
