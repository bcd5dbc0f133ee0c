/** Projects of one type, Book, and what is in their databases and plans. */
import { watchDatabase, type Watch } from '../support/observer.ts';
import { type Files, type Project, useProjects } from '../support/project.ts';

export const BOOKS =
  'type: Book\nfields:\n  title: { type: string, maxLength: 100 }\n  pages: { type: integer, default: 0 }\n';

export function useBooks() {
  const newProject = useProjects();
  const projectOf = async (files: Files, work = async (_url: string): Promise<unknown> => undefined) => {
    const project = await newProject(files);
    await project.serving(work);
    return project;
  };
  return { newProject, projectOf };
}

async function watched({ database }: Project, read: (watch: Watch) => Promise<string>): Promise<string> {
  const watch = await watchDatabase(database);
  const text = await read(watch);
  await watch.close();
  return text;
}

export const contents = (project: Project): Promise<string> => watched(project, (watch) => watch.contents());
export const columnsIn = (project: Project): Promise<string> => watched(project, (watch) => watch.columns());

interface PlannedStep {
  readonly id: string;
  readonly state: string;
  readonly sql: readonly string[];
}

export const steps = async (project: Project, ...words: readonly string[]): Promise<readonly PlannedStep[]> =>
  JSON.parse((await project.run('plan', '--json', '--sql', ...words)).out).steps;
