/** What a test file needs from its beginning to its end, and what becomes of it then. */
import { type Compiled, compile } from './compiled.ts';
import { createProject, type Files, type Project } from './project.ts';

/** The compiled program. */
export function useCompiled(): Pick<Compiled, 'directory' | 'run'> {
  const made: Compiled[] = [];
  const ready = (): Compiled => {
    const [compiled] = made;
    if (compiled === undefined) throw new Error('nothing is compiled before the first test');
    return compiled;
  };
  beforeAll(async () => void made.push(await compile()));
  afterAll(() => Promise.all(made.map((compiled) => compiled.remove())));
  return {
    get directory() {
      return ready().directory;
    },
    run: (...words) => ready().run(...words),
  };
}

/** Makes projects, each for one test. */
export function useProjects(): (files: Files, shown?: string) => Promise<Project> {
  const projects: Project[] = [];
  afterEach(async () => {
    for (const project of projects.splice(0)) await project.remove();
  });
  return async (files, shown) => {
    const project = await createProject(files, shown);
    projects.push(project);
    return project;
  };
}
