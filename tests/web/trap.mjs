/* Computes on two threads of which the second traps: trap.mjs WEB_FOLDER. Its stack is at 0, so that a task traps as
 * soon as it needs some. Prints two of the failures, and whether the logits are those of one thread once it has ended. */
import { readFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2], bytes = readFileSync(`${folder}/cifar10.safetensors`);
const workers = createRequire(import.meta.url)('node:worker_threads'), { Worker } = workers;
workers.Worker = class extends Worker {
  postMessage(message) { super.postMessage({ ...message, stack: 0 }); }
};
syncBuiltinESMExports();
const { load } = await import(pathToFileURL(`${folder}/shiftvit.js`));
const library = await load(null, { threads: 2 }), model = library.model(bytes), alone = (await load()).model(bytes);
const images = Array(16).fill({ data: new Uint8Array(3072).fill(100), width: 32, height: 32 });

/* The first failure: the second thread may come late, and find no task, in some calls. */
function failure() {
  for (let i = 0; i < 100; i++) {
    try {
      model.logits(images);
    } catch ({ name, status, message }) {
      return { name, status, message };
    }
  }
  return null;
}

const failures = [failure(), failure()];
library.endThreads();
console.log(JSON.stringify([...failures, `${model.logits(images)}` === `${alone.logits(images)}`]));
