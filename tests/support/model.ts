/** The Model of a schema folder, as the boot resolves it. */
import { loadDescriptors } from '../../engine/descriptor/load.ts';
import type { Model } from '../../engine/model/model.ts';
import { resolveModel } from '../../engine/model/resolve.ts';

export function loadModel(directory: string): Model {
  const { files, diagnostics } = loadDescriptors(directory);
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ frame, message }) => `${message}\n${frame}`).join('\n'));
  return resolveModel(files.map(({ descriptor }) => descriptor));
}
